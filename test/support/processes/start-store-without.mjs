// Starts a store in a process where some packages are not installed: {"store": CLASS, "options": {…}, "missing": […]}.
// Says "started", or "refused CODE: MESSAGE".
import { register } from 'node:module';

const { store, options, missing } = JSON.parse(process.argv[2]);
const hooks = `
  export async function resolve(specifier, context, next) {
    if (!${JSON.stringify(missing)}.includes(specifier)) return next(specifier, context);
    const error = new Error('Cannot find package ' + specifier);
    throw Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' });
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
const doclock = await import('../../../dist/lock/index.js');
try {
  await new doclock[store](options).start();
  process.stdout.write('started\n');
} catch (error) {
  process.stdout.write(`refused ${error.code}: ${error.message}\n`);
}
process.exit(0);

import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';

/** Timers that have been set and have neither fired nor been cleared, unref'd ones included. */
const live = new Set();

/**
 * Counts, from now on, the timers of this process. Node's own list names only those that keep the
 * process alive. Call it before the timers to be counted are set.
 * @returns {() => number}
 */
export function countLiveTimers() {
  wrap('setTimeout', true);
  wrap('setInterval', false);
  for (const name of ['clearTimeout', 'clearInterval']) {
    const clear = timers[name];
    replace(name, (timer) => {
      live.delete(timer);
      clear(timer);
    });
  }
  syncBuiltinESMExports();
  return () => live.size;
}

function wrap(name, once) {
  const set = timers[name];
  replace(name, (run, ...rest) => {
    const timer = set(
      (...args) => {
        if (once) live.delete(timer);
        run(...args);
      },
      ...rest,
    );
    live.add(timer);
    return timer;
  });
}

function replace(name, wrapped) {
  Object.setPrototypeOf(wrapped, timers[name]); // keeps util.promisify.custom and the like
  timers[name] = wrapped;
  globalThis[name] = wrapped;
}

import { readFileSync } from 'node:fs';

/** What to print instead of starting, and whether that is a mistake of the caller. */
export interface Printed {
  readonly text: string;
  readonly isMistake: boolean;
}

const usage = `The document service: documents are processed by one worker at a time, however many replicas run.

  node dist/main.js              starts it, with the settings of the environment and of the file .env
  node dist/main.js --help       prints this
  node dist/main.js --version    prints the version

Settings are environment variables, such as PORT=4000 node dist/main.js; .env.example explains every one.
API once it runs: GET /docs. It ends on SIGTERM or Ctrl+C.`;

/** What the arguments ask for; undefined: to start. */
export function readCommandLine([first]: readonly string[]): Printed | undefined {
  if (first === undefined) return undefined;
  if (['--help', '-h'].includes(first)) return { text: usage, isMistake: false };
  if (['--version', '-v'].includes(first)) return { text: version(), isMistake: false };
  return {
    text: `The service takes no argument "${first}". Settings are environment variables: see --help.`,
    isMistake: true,
  };
}

function version(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

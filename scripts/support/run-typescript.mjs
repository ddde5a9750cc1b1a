// `node --import ./scripts/support/run-typescript.mjs some-file.ts` runs TypeScript, types unchecked.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);

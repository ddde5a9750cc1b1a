import { LuaScript } from './lua-script.js';
import { queueConstants } from './queue-constants.js';

/** The scripts of one Redis lock store, each one atomic step on the server. */
export type LockScripts = ReturnType<typeof lockScripts>;

/** `channelPrefix` is what the channels begin with on which processes are woken. */
export function lockScripts(channelPrefix: string) {
  const constants = queueConstants(channelPrefix);
  const script = (...files: string[]) => new LuaScript({ files, constants });
  return {
    acquire: script(
      './fence.lua',
      './acquire.lua',
      './queue.lua',
      './grant.lua',
      './acquire-in-line.lua',
    ),
    acquireMany: script('./fence.lua', './acquire-many.lua'),
    acquireAll: script('./queue.lua', './fence.lua', './grant.lua', './acquire-all.lua'),
    renew: script('./renew.lua'),
    release: script('./release.lua', './queue.lua', './release-to-next.lua'),
    releaseMany: script('./release-many.lua'),
    leave: script('./queue.lua', './leave.lua'),
    inspect: script('./queue.lua', './fence.lua', './grant.lua', './inspect.lua'),
    revoke: script('./revoke.lua'),
  };
}

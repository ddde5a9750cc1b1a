import { PLACE_DEAD_MS, TURN_MS } from '../../core/lock-store.js';
import { LuaScript } from './lua-script.js';

const constants = { DEAD_MS: PLACE_DEAD_MS, TURN_MS };

/** The scripts of the Redis lock store, each one atomic step on the server. */
export const scripts = Object.freeze({
  acquire: new LuaScript({
    files: ['./acquire.lua', './queue.lua', './grant.lua', './acquire-in-line.lua'],
    constants,
  }),
  acquireMany: new LuaScript({ files: ['./acquire-many.lua'] }),
  acquireAll: new LuaScript({
    files: ['./queue.lua', './grant.lua', './acquire-all.lua'],
    constants,
  }),
  renew: new LuaScript({ files: ['./renew.lua'] }),
  release: new LuaScript({
    files: ['./release.lua', './queue.lua', './release-to-next.lua'],
    constants,
  }),
  releaseMany: new LuaScript({ files: ['./release-many.lua'] }),
  leave: new LuaScript({ files: ['./queue.lua', './leave.lua'], constants }),
  inspect: new LuaScript({ files: ['./queue.lua', './grant.lua', './inspect.lua'], constants }),
  revoke: new LuaScript({ files: ['./revoke.lua'] }),
});

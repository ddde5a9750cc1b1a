import { PLACE_DEAD_MS, TURN_MS } from '../../core/lock-store.js';
import { LuaScript } from './lua-script.js';

/** The scripts of permits under one rule, each one atomic step on the server. */
export function permitScripts(channelPrefix: string, room: URL) {
  const constants = { DEAD_MS: PLACE_DEAD_MS, TURN_MS, CHANNEL: channelPrefix };
  const script = (...files: string[]) => new LuaScript({ files, constants });
  const shared = ['./queue.lua', './grant.lua', './permits.lua'];
  return {
    acquire: script(...shared, room.href, './pass-on.lua', './acquire-permit.lua'),
    renew: script(...shared, './renew-permits.lua'),
    release: script(...shared, room.href, './pass-on.lua', './release-permit.lua'),
    leave: script(...shared, room.href, './pass-on.lua', './leave-permits.lua'),
    holders: script(...shared, './permit-holders.lua'),
  };
}

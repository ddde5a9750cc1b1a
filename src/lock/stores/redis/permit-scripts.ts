import { LuaScript } from './lua-script.js';
import { queueConstants } from './queue-constants.js';

interface Rule {
  readonly files: readonly URL[];
  readonly constants?: Readonly<Record<string, number | string>> | undefined;
}

/** The scripts of permits under one rule, each one atomic step on the server. */
export function permitScripts(channelPrefix: string, { files, constants: own }: Rule) {
  const constants = { ...queueConstants(channelPrefix), ...own };
  const script = (...parts: string[]) => new LuaScript({ files: parts, constants });
  const shared = ['./queue.lua', './fence.lua', './grant.lua', './permits.lua'];
  const rule = files.map(({ href }) => href);
  return {
    acquire: script(...shared, ...rule, './pass-on.lua', './acquire-permit.lua'),
    renew: script(...shared, './renew-permits.lua'),
    release: script(...shared, ...rule, './pass-on.lua', './release-permit.lua'),
    leave: script(...shared, ...rule, './pass-on.lua', './leave-permits.lua'),
    holders: script(...shared, './permit-holders.lua'),
  };
}

import { LuaScript } from '../../../lock/store-kit.js';
import { MINUTE_MS, SLOT_MS } from '../../pool-store.js';

const here = (file: string) => new URL(file, import.meta.url);
const constants = { SLOT_MS, MINUTE_MS };

/** The rule of pools, for a Redis permit store. */
export const membersRoom = [here('./pool-members.lua'), here('./members-room.lua')];

/** The constants that it needs there. */
export const membersRoomConstants = constants;

const script = (file: string) =>
  new LuaScript({ files: [here('./pool-members.lua').href, here(file).href], constants });

/** What can be told and asked of members, each one atomic step on the server. */
export const poolScripts = {
  rest: script('./rest-member.lua'),
  quarantine: script('./quarantine-member.lua'),
  readmit: script('./readmit-member.lua'),
  spend: script('./spend-tokens.lua'),
  state: script('./pool-state.lua'),
};

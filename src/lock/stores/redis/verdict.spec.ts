import { describe, expect, it } from '@jest/globals';
import type { RedisClient } from './lua-script.js';
import { verdict } from './verdict.js';

const client = { status: 'ready' } as RedisClient;
const sha = '23532a88412a46116bf9d4dd465322bc6585baaa';

/** An error as the driver makes one of what a server has answered. */
function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

describe('an error of the server', () => {
  it.each([
    'NOSCRIPT No matching script. Please use EVAL.',
    "NOPERM this user has no permissions to run the 'evalsha' command",
    'LOADING Redis is loading the dataset in memory',
    "CROSSSLOT Keys in request don't hash to the same slot",
    'DOCLOCK the fence key holds something that is not a fence',
    'ERR Error compiling script (new function): user_script:1: unexpected symbol',
  ])('has no effect where it is a refusal: %s', async (message) => {
    const asked = verdict(client, 'doc', () => Promise.reject(replyError(message)));
    await expect(asked).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', mayHaveRun: false });
  });

  it.each([
    `OOM command not allowed when used memory > 'maxmemory'. script: ${sha}, on @user_script:1.`,
    `READONLY You can't write against a read only replica. script: ${sha}, on @user_script:1.`,
    `ERR Error running script (call to f_${sha}): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.`,
  ])('has no effect where it refuses the first write of a script: %s', async (message) => {
    const asked = verdict(client, 'doc', () => Promise.reject(replyError(message)));
    await expect(asked).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', mayHaveRun: false });
  });

  it.each([
    `WRONGTYPE Operation against a key holding the wrong kind of value script: ${sha}, on @user_script:1.`,
    `ERR user_script:1: attempt to compare number with nil script: ${sha}, on @user_script:1.`,
    `ERR Error running script (call to f_${sha}): @user_script:1: WRONGTYPE Operation against a key holding the wrong kind of value`,
  ])('may come after an effect where a script raises it: %s', async (message) => {
    const asked = verdict(client, 'doc', () => Promise.reject(replyError(message)));
    await expect(asked).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', mayHaveRun: true });
  });
});

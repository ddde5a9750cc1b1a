import { describe, expect, it } from '@jest/globals';
import { redisLockClientOptions } from './redis-client-options.js';

const sha = '23532a88412a46116bf9d4dd465322bc6585baaa';

describe('the client leaves a server', () => {
  it.each([
    ["READONLY You can't write against a read only replica.", 1],
    [`READONLY You can't write against a read only replica. script: ${sha}, on @user_script:1.`, 1],
    [
      `ERR Error running script (call to f_${sha}): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.`,
      1,
    ],
    [`WRONGTYPE Operation against a key script: ${sha}, on @user_script:1.`, false],
  ])('that says: %s (%s)', (message, expected) => {
    expect(redisLockClientOptions.reconnectOnError(new Error(message))).toBe(expected);
  });
});

/**
 * Turns "run this under the lock" into "take it now, let go later".
 * @param {(work: () => Promise<void>) => Promise<void>} using
 * @returns {Promise<() => Promise<void>>} when the lock is held; what lets go of it
 */
export function holdWithin(using) {
  return new Promise((resolve, reject) => {
    const ended = using(() => {
      const { promise, resolve: letGo } = deferred();
      resolve(async () => {
        letGo();
        await ended;
      });
      return promise;
    });
    ended.catch(reject);
  });
}

function deferred() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

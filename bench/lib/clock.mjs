/**
 * Microseconds on the machine's monotonic clock, which all processes of one machine share. A double
 * holds them to a fraction of a microsecond for years of uptime.
 * @returns {number}
 */
export function nowUs() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + nanoseconds / 1e3;
}

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Resolves at an instant of `nowUs`, to within a millisecond or two.
 * @param {number} us
 * @returns {Promise<void>}
 */
export function pauseUntil(us) {
  return pause(Math.max(0, (us - nowUs()) / 1e3));
}

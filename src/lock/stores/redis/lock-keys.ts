/** The keys of one lock, all in one cluster slot. Part of the wire format. */
export function lockKeys(prefix: string, name: string) {
  const lock = prefix + name;
  const tag = `{${lock}}`;
  return { lock, fence: `${tag}:fence`, queue: `${tag}:waiters` };
}

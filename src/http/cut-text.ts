/** The first `max` characters (code points, none of them cut in two) of a text. */
export function cutText(text: string, max: number): string {
  const start = text.slice(0, 2 * max); // no code point takes more than two units
  return Array.from(start).slice(0, max).join('');
}

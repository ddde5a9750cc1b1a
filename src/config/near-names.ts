/** Last words that people leave out: LOCK_TTL for LOCK_TTL_MS. */
const UNITS = ['MS', 'MB', 'DAYS', 'CHARS', 'PAGES', 'PER_MINUTE'];

/**
 * Which of the `known` settings a name that is none of them was probably meant to be; undefined where it
 * is near none. Near is: the same but for case and underscores; without its unit; with `_FILE` behind it,
 * which others read as the name of a file; a typing error or two, by its length.
 */
export function nearName(name: string, known: readonly string[]): string | undefined {
  const given = name.toUpperCase();
  return known.find(
    (each) =>
      plain(each) === plain(given) ||
      UNITS.some((unit) => each === `${given}_${unit}`) ||
      given === `${each}_FILE` ||
      typingErrors(given, each) <= allowedErrors(each),
  );
}

function plain(name: string): string {
  return name.replaceAll('_', '');
}

/** None for short names: HOSTS, PORTS and the like are everywhere. */
function allowedErrors({ length }: string): number {
  if (length < 7) return 0;
  return length < 10 ? 1 : 2;
}

/** Letters that are missing, wrong, too many or exchanged with their neighbour (the distance of Damerau and Levenshtein). */
function typingErrors(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Infinity;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      let errors = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (isSame ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        errors = Math.min(errors, (before[j - 2] ?? 0) + 1);
      }
      next.push(errors);
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? Infinity;
}

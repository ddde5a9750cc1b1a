const setting = /^\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*=\s*(?:(["'`])(.*))?/;
const ignored = /^\s*(?:#.*)?$/;

/**
 * What is wrong with the lines of a `.env` file, which Node itself reads as far as it can: a sentence for
 * each line that it would skip or take in part. Says the line's number and not what it holds, which may
 * be a secret.
 */
export function dotenvMistakes(text: string): string[] {
  const mistakes: string[] = [];
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (ignored.test(line)) continue;
    const found = setting.exec(line);
    const [, quote, rest = ''] = found ?? [];
    if (!found) {
      mistakes.push(
        `Line ${at + 1} of .env is no setting. Write NAME=value, or begin a comment with "#".`,
      );
    } else if (quote !== undefined && !rest.includes(quote)) {
      const end = lines.findIndex((later, index) => index > at && later.includes(quote));
      if (end === -1) {
        mistakes.push(
          `Line ${at + 1} of .env begins a value with ${quote} that nothing ends. End it.`,
        );
      } else {
        at = end; // a value may hold line ends
      }
    }
  }
  return mistakes;
}

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { table } from './format.mjs';

const page = fileURLToPath(new URL('../../docs/service-figures.md', import.meta.url));

/** Writes docs/service-figures.md; resolves with its path. */
export async function writePage(report) {
  const options = { ...(await resolveConfig(page)), filepath: page };
  await writeFile(page, await format(markdown(report), options));
  return page;
}

function markdown({ machine, results }) {
  return `# What the service costs

Written by \`npm run bench:service\` on ${machine.date.slice(0, 10)}, commit ${machine.commit ?? 'unknown'}: ${machine.cpu},
${machine.cores} cores, ${machine.memoryGb} GB, Node.js ${machine.node}; load average ${machine.loadBefore} before and ${machine.loadAfter} after.
Everything runs on one machine, clients included, so a figure of requests per second is a lower bound; the
CPU time of an answer depends less on what else runs.

${results.map(section).join('\n\n')}
`;
}

function section({ title, about, rows }) {
  const hasBars = rows.some(({ bar }) => bar !== undefined);
  const head = hasBars ? ['', 'measured', 'bar', 'met'] : ['', 'measured'];
  const lines = rows.map(({ what, value, bar, isMet }) => {
    const cells = [what, value];
    return hasBars ? [...cells, bar ?? '', bar === undefined ? '' : isMet ? 'yes' : 'no'] : cells;
  });
  return `## ${title}\n\n${about}\n\n${table(head, lines, 'text')}`;
}

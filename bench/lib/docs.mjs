import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { chart } from './chart.mjs';
import { CHART, reportMarkdown } from './report.mjs';

const folder = new URL('../../docs/', import.meta.url);

/**
 * Writes docs/benchmarks.md and its chart.
 * @param {any} report
 */
export async function writeDocs(report) {
  await mkdir(folder, { recursive: true });
  const page = fileURLToPath(new URL('benchmarks.md', folder));
  const options = { ...(await resolveConfig(page)), filepath: page };
  await writeFile(page, await format(reportMarkdown(report), options));
  await writeFile(new URL(CHART, folder), chart(report));
  console.log(`The report: ${page}`);
}

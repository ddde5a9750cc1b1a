/**
 * The 480-page manual: the Z shell's, from Debian's package zsh-doc. Where apt is not at hand a
 * manual of 480 pages is generated. Plain JavaScript, since the benchmark uses it without a build.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import PdfKit from 'pdfkit';

const run = promisify(execFile);
const cache = join(tmpdir(), 'doclock-manual');
const PAGES = 480;
/** The package's upstream version whose PDF is known to have 480 pages. */
const KNOWN = /^5\.9-4(?:\D|$)/;

export async function manual() {
  const real = join(cache, 'zsh-manual.pdf');
  const made = join(cache, 'generated-manual.pdf');
  const found = (await read(real)) ?? (await store(real, fromDebian));
  if (found !== undefined) return { bytes: found, pages: PAGES, source: 'Debian package zsh-doc' };
  const bytes = (await read(made)) ?? (await store(made, generated));
  return { bytes, pages: PAGES, source: 'generated, because zsh-doc could not be had with apt' };
}

function read(file) {
  return readFile(file).catch(() => undefined);
}

/** Writes beside and renames: test files run side by side. */
async function store(file, produce) {
  const bytes = await produce();
  if (bytes === undefined) return undefined;
  await mkdir(cache, { recursive: true });
  await writeFile(`${file}.${process.pid}`, bytes);
  await rename(`${file}.${process.pid}`, file);
  return bytes;
}

/** The PDF of the package, or undefined where there is no apt, no network, or another version. */
async function fromDebian() {
  const folder = await mkdtemp(join(tmpdir(), 'doclock-zsh-'));
  const download = () => run('apt-get', ['download', 'zsh-doc'], { cwd: folder, timeout: 60_000 });
  try {
    await download().catch(async () => {
      await run('apt-get', ['update'], { timeout: 120_000 });
      await download();
    });
    const deb = (await readdir(folder)).find((name) => name.endsWith('.deb'));
    if (deb === undefined) return undefined;
    const { stdout } = await run('dpkg-deb', ['-f', deb, 'Version'], { cwd: folder });
    if (!KNOWN.test(stdout.trim())) return undefined;
    await run('dpkg-deb', ['-x', deb, 'content'], { cwd: folder });
    const files = await readdir(join(folder, 'content'), { recursive: true });
    const pdf = files.find((name) => /\.pdf(\.gz)?$/.test(name));
    if (pdf === undefined) return undefined;
    const bytes = await readFile(join(folder, 'content', pdf));
    return pdf.endsWith('.gz') ? await promisify(gunzip)(bytes) : bytes;
  } catch {
    return undefined; // the caller says so, in `source`
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const words =
  'the lock is held by one worker while the others wait for their turn and the fence rises'.split(
    ' ',
  );

async function generated() {
  const document = new PdfKit({ autoFirstPage: false });
  const parts = [];
  document.on('data', (part) => parts.push(part));
  const ended = new Promise((resolve) => document.on('end', resolve));
  for (let page = 1; page <= PAGES; page += 1) {
    const text = Array.from(
      { length: 500 },
      (_, i) => words[(i * 7 + page * (i % 13)) % words.length],
    );
    document
      .addPage()
      .fontSize(9)
      .text(`Chapter ${Math.ceil(page / 20)}, page ${page}`);
    document.text(text.join(' '));
  }
  document.end();
  await ended;
  return Buffer.concat(parts);
}

/**
 * The 480-page manual: the Z shell's, from Debian's package zsh-doc. Where it cannot be had, a generated
 * one of 480 pages is used only if MANUAL=generated says so. Plain JavaScript, since the benchmark uses it
 * without a build.
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
  if (process.env['MANUAL'] === 'generated') {
    const made = join(cache, 'generated-manual.pdf');
    const bytes = (await read(made)) ?? (await store(made, generated));
    return { bytes, pages: PAGES, source: 'generated, as MANUAL=generated asks for' };
  }
  const real = join(cache, 'zsh-manual.pdf');
  const bytes = (await read(real)) ?? (await store(real, fromDebian));
  return { bytes, pages: PAGES, source: 'Debian package zsh-doc' };
}

function read(file) {
  return readFile(file).catch(() => undefined);
}

/** Writes beside and renames: test files run side by side. */
async function store(file, produce) {
  const bytes = await produce();
  await mkdir(cache, { recursive: true });
  await writeFile(`${file}.${process.pid}`, bytes);
  await rename(`${file}.${process.pid}`, file);
  return bytes;
}

/** The PDF of the package. @throws where there is no apt, no network, or another version, saying what to do */
async function fromDebian() {
  const folder = await mkdtemp(join(tmpdir(), 'doclock-zsh-'));
  const download = () => run('apt-get', ['download', 'zsh-doc'], { cwd: folder, timeout: 60_000 });
  try {
    await download().catch(async () => {
      await run('apt-get', ['update'], { timeout: 120_000 });
      await download();
    });
    const deb = (await readdir(folder)).find((name) => name.endsWith('.deb'));
    const { stdout } = await run('dpkg-deb', ['-f', deb, 'Version'], { cwd: folder });
    if (!KNOWN.test(stdout.trim())) throw new Error(`apt has version ${stdout.trim()} of it.`);
    await run('dpkg-deb', ['-x', deb, 'content'], { cwd: folder });
    const files = await readdir(join(folder, 'content'), { recursive: true });
    const pdf = files.find((name) => /\.pdf(\.gz)?$/.test(name));
    const bytes = await readFile(join(folder, 'content', pdf));
    return pdf.endsWith('.gz') ? await promisify(gunzip)(bytes) : bytes;
  } catch (cause) {
    throw new Error(
      `The manual of 480 pages, zsh.pdf of the Debian package zsh-doc 5.9-4, could not be had with apt. Copy it to ${join(cache, 'zsh-manual.pdf')}, or set MANUAL=generated to go on with a generated one.`,
      { cause },
    );
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

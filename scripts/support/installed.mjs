/** Programs of this machine: found, or installed where that needs nobody's leave. */
import { execFile } from 'node:child_process';
import { access, constants, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const policy = '/usr/sbin/policy-rc.d';

export async function findProgram(name, folders = []) {
  const places = [...(process.env['PATH'] ?? '').split(delimiter), ...folders];
  for (const place of places.filter(Boolean)) {
    const path = join(place, name);
    if (await exists(path, constants.X_OK)) return path;
  }
  return null;
}

export async function aptInstall(...packages) {
  if (process.getuid?.() !== 0 || !(await findProgram('apt-get'))) return false;
  const ownPolicy = !(await exists(policy));
  if (ownPolicy) await writeFile(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    await run('apt-get', ['update'], { env });
    await run('apt-get', ['install', '-y', '--no-install-recommends', ...packages], { env });
    return true;
  } finally {
    if (ownPolicy) await rm(policy, { force: true });
  }
}

export async function dockerAnswers() {
  if (!(await findProgram('docker'))) return false;
  return run('docker', ['version', '--format', '{{.Server.Version}}'], { timeout: 10_000 }).then(
    () => true,
    () => false,
  );
}

export async function docker(...args) {
  const { stdout } = await run('docker', args);
  return stdout.trim();
}

function exists(path, mode = constants.F_OK) {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

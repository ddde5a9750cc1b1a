import { execFile } from 'node:child_process';
import { access, constants, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const policy = '/usr/sbin/policy-rc.d';

/** Where the program `name` is on PATH (or in one of `folders`), or null. */
export async function findProgram(name: string, folders: string[] = []): Promise<string | null> {
  const places = [...(process.env['PATH'] ?? '').split(delimiter), ...folders];
  for (const place of places.filter(Boolean)) {
    const path = join(place, name);
    if (await exists(path, constants.X_OK)) return path;
  }
  return null;
}

/**
 * Installs Debian packages when that can be done without asking anyone: as root, with apt. Services
 * that the packages would start are kept from starting. Resolves with whether it installed.
 * @throws when apt fails, with its output in the message. Costs tens of seconds.
 */
export async function aptInstall(...packages: string[]): Promise<boolean> {
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

/** Whether a Docker daemon answers. */
export async function dockerAnswers(): Promise<boolean> {
  if (!(await findProgram('docker'))) return false;
  return run('docker', ['version', '--format', '{{.Server.Version}}'], { timeout: 10_000 }).then(
    () => true,
    () => false,
  );
}

/** Runs a docker command and gives its trimmed output. @throws with the daemon's message */
export async function docker(...args: string[]): Promise<string> {
  const { stdout } = await run('docker', args);
  return stdout.trim();
}

function exists(path: string, mode: number = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

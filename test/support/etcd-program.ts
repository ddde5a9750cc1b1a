import { aptInstall, findProgram } from '../../scripts/support/installed.mjs';

/**
 * Where etcd and etcdctl are; installed with apt where that needs nobody's leave.
 * @throws saying exactly what to install
 */
export async function ensureEtcd(): Promise<{ readonly server: string; readonly ctl: string }> {
  const found = await installed();
  if (found) return found;
  await aptInstall('etcd-server', 'etcd-client');
  const now = await installed();
  if (now) return now;
  throw new Error(
    'The tests need a real etcd server and found no etcd and etcdctl on PATH. ' +
      'Install them: "sudo apt-get install etcd-server etcd-client" (Debian, Ubuntu), "brew install etcd" (macOS).',
  );
}

async function installed() {
  const [server, ctl] = await Promise.all([findProgram('etcd'), findProgram('etcdctl')]);
  return server && ctl ? { server, ctl } : null;
}

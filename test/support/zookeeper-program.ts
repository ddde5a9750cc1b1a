import { access } from 'node:fs/promises';
import { aptInstall, findProgram } from '../../scripts/support/installed.mjs';

const JARS = '/usr/share/java';

/**
 * What runs a ZooKeeper server: Java, and the class path; installed with apt where that needs nobody's leave.
 * @throws saying exactly what to install
 */
export async function ensureZookeeper(): Promise<{
  readonly java: string;
  readonly classPath: string;
}> {
  const found = await installed();
  if (found) return found;
  await aptInstall('zookeeper', 'default-jre-headless');
  const now = await installed();
  if (now) return now;
  throw new Error(
    `The tests need a real ZooKeeper server and found no java on PATH, or no ${JARS}/zookeeper.jar. ` +
      'Install them: "sudo apt-get install zookeeper default-jre-headless" (Debian, Ubuntu).',
  );
}

async function installed() {
  const java = await findProgram('java');
  const hasJar = await access(`${JARS}/zookeeper.jar`).then(
    () => true,
    () => false,
  );
  return java && hasJar ? { java, classPath: `${JARS}/*` } : null;
}

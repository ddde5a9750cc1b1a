import { LockOptionsError } from '../../core/lock.errors.js';
import type { Row } from './postgres-client.js';

const MIN_VERSION = 120_000;

/** What may break locks although they work now. @throws LockOptionsError for a server that is too old */
export async function checkPostgres(ask: (sql: string) => Promise<Row[]>): Promise<string[]> {
  const [row = {}] = await ask(
    `select current_setting('server_version_num')::integer as version,
      current_setting('server_version') as version_text,
      current_setting('fsync') as fsync,
      current_setting('synchronous_commit') as synchronous_commit,
      current_setting('transaction_isolation') as isolation`,
  );
  const setting = (name: string) => String(row[name]);
  if (Number(row['version']) < MIN_VERSION) {
    throw new LockOptionsError(
      `The lock store "postgres" needs PostgreSQL 12 or later; this server is ${setting('version_text')}. Upgrade it, or choose another store.`,
    );
  }
  const findings: string[] = [];
  if (setting('fsync') === 'off' || setting('synchronous_commit') === 'off') {
    findings.push(
      'PostgreSQL answers before a commit is on its disk (fsync or synchronous_commit is off): a crash of the server loses the last locks, and a second holder may be granted them. Turn both on for the user of the lock store.',
    );
  }
  if (setting('isolation') !== 'read committed') {
    findings.push(
      `The default transaction isolation is "${setting('isolation')}": simultaneous tries for one lock fail as unavailable instead of busy. Set default_transaction_isolation to "read committed" for the user of the lock store.`,
    );
  }
  return findings;
}

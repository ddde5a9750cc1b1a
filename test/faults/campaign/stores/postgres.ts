import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'pg';
import { processPause, storeFault } from '../fault.js';
import type { StartStore } from '../store-world.js';
import { TTL_MS } from '../timing.js';

const LONGEST_LIFE_MS = TTL_MS + 500;

/** LOCK_STORE=postgres in the database of the documents, which the campaign breaks anyway. Loses nothing. */
export const startPostgresWorld: StartStore = async ({ databaseUrl, atEnd }) => {
  if (databaseUrl === undefined) {
    throw new Error('The store postgres needs a PostgreSQL database: leave --database out.');
  }
  const pool = new Pool({ connectionString: databaseUrl });
  pool.on('error', () => undefined); // it is restarted on purpose
  atEnd(() => pool.end());
  return {
    settings: () => ({ LOCK_STORE: 'postgres' }),
    links: [],
    faults: [
      storeFault('connections of the store ended by the server', async () => {
        await pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where pid <> pg_backend_pid()
              and (query like '%"doclock".%' or query like 'listen doclock%')`,
        );
      }),
      storeFault('locks behind a lock of the table', async (random) => {
        const client = await pool.connect();
        try {
          await client.query('begin; lock table doclock.locks in access exclusive mode');
          await delay(random.whole(500, 2 * TTL_MS));
          await client.query('rollback');
        } finally {
          client.release();
        }
      }),
      processPause('process paused beyond its TTL', LONGEST_LIFE_MS),
    ],
    longestLifeMs: LONGEST_LIFE_MS,
    async locks() {
      const { rows } = await pool.query<{ name: string; left_us: string }>(
        `select name, ends_us - doclock.now_us() as left_us from doclock.locks
          where token is not null and ends_us > doclock.now_us()`,
      );
      return rows.map(({ name, left_us }) => ({ name, leftMs: Number(left_us) / 1000 }));
    },
    async leftovers() {
      const { rows } = await pool.query<{ name: string }>(
        `select q.name from doclock.queue q left join doclock.locks l using (name)
          where l.queued is distinct from (select count(*) from doclock.queue where name = q.name)`,
      );
      return rows.map(({ name }) => `the queue of ${name} is counted wrongly`);
    },
  };
};

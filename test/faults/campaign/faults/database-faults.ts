import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../fault.js';

/** What goes wrong where the documents are. */
export const databaseFaults: readonly Fault[] = [
  {
    kind: 'database restart',
    domain: 'database',
    isPossible: ({ postgres }) => postgres !== undefined,
    async inject({ postgres }, random) {
      await postgres?.halt();
      await delay(random.whole(0, 1_500));
      await postgres?.start();
    },
  },
  {
    kind: 'disk full',
    domain: 'database',
    isPossible: ({ disk }) => disk !== undefined,
    async inject({ disk }, random) {
      if (disk === undefined) return;
      const ballast = join(disk, 'ballast');
      try {
        await fill(ballast);
        await delay(random.whole(1_000, 3_000));
      } finally {
        await rm(ballast, { force: true });
      }
    },
  },
];

/** Writes until nothing more goes onto the disk. */
async function fill(path: string): Promise<void> {
  const file = await open(path, 'w');
  try {
    for (const size of [2 ** 20, 4_096]) {
      const part = Buffer.alloc(size);
      for (;;) {
        const isFull = await file.appendFile(part).then(
          () => false,
          (error: NodeJS.ErrnoException) => {
            if (error.code !== 'ENOSPC') throw error;
            return true;
          },
        );
        if (isFull) break;
      }
    }
  } finally {
    await file.close();
  }
}

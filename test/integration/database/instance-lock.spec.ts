import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { InstanceLock } from '../../../src/database/index.js';
import { Child } from '../../support/child.js';
import { eventually } from '../../support/eventually.js';

describe('the instance lock', () => {
  let dataDir: string;
  const children: Child[] = [];
  const own: InstanceLock[] = [];

  beforeEach(async () => {
    dataDir = join(await mkdtemp(join(tmpdir(), 'doclock-instance-')), 'not-there-yet');
  });
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.kill()));
    await Promise.all(own.splice(0).map((lock) => lock.release()));
    await rm(join(dataDir, '..'), { recursive: true, force: true });
  });

  function holder(mode: 'exclusive' | 'shared'): Child {
    const child = Child.start('hold-lock.mjs', { dataDir, mode });
    children.push(child);
    return child;
  }

  async function acquire(mode: 'exclusive' | 'shared'): Promise<InstanceLock> {
    const lock = await InstanceLock.acquire(dataDir, mode);
    own.push(lock);
    return lock;
  }

  it.each(['exclusive', 'shared'] as const)('held %s needs no room on the disk', async (mode) => {
    await acquire(mode);
    const files = await readdir(dataDir);
    expect(files).toEqual(['instance.lock']);
    expect((await stat(join(dataDir, 'instance.lock'))).size).toBe(0);
  });

  it('lets many processes share', async () => {
    await holder('shared').says('held');
    await holder('shared').says('held');
    await expect(acquire('shared')).resolves.toMatchObject({ mode: 'shared' });
  });

  it.each([
    ['exclusive', 'exclusive'],
    ['exclusive', 'shared'],
    ['shared', 'exclusive'],
  ] as const)('held %s by another process refuses %s at once', async (held, wanted) => {
    await holder(held).says('held');
    const startedAt = performance.now();
    await expect(acquire(wanted)).rejects.toMatchObject({
      code: 'instance_lock',
      message: expect.stringMatching(
        /instance\.lock.*another process.*DATA_DIR.*REDIS_URL|instance\.lock.*another process.*REDIS_URL.*DATA_DIR/,
      ),
    });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await expect(holder(wanted).says('refused')).resolves.toBe('refused instance_lock');
  });

  it.each(['exclusive', 'shared'] as const)(
    'held %s is free at once after kill -9',
    async (mode) => {
      const child = holder(mode);
      await child.says('held');
      await child.kill();
      await expect(acquire('exclusive')).resolves.toMatchObject({ mode: 'exclusive' });
    },
  );

  it('is free after a release while the process lives on', async () => {
    const child = holder('exclusive');
    await child.says('held');
    child.tell('release');
    await child.says('released');
    await expect(acquire('exclusive')).resolves.toMatchObject({ mode: 'exclusive' });
  });

  it('excludes within one process too', async () => {
    const first = await acquire('exclusive');
    await expect(acquire('exclusive')).rejects.toMatchObject({ code: 'instance_lock' });
    await first.release();
    own.pop();
    await eventually(() => acquire('exclusive'), { what: 'the freed lock' });
  });

  it('says so when the folder cannot be made', async () => {
    await expect(InstanceLock.acquire('/dev/null/data', 'exclusive')).rejects.toMatchObject({
      code: 'database_unavailable',
      message: expect.stringContaining('/dev/null/data'),
    });
  });
});

import { describe, expect, it } from '@jest/globals';
import { ServiceProcess } from '../support/service-process.js';

describe('the process', () => {
  it('says where locks live, answers, and ends with 0 soon after SIGTERM', async () => {
    await using service = await ServiceProcess.start({ INSTANCE_ID: 'me' });
    expect(service.output).toContain('Locks live in this process only');
    const alive = await service.fetch('/health/live');
    expect(alive.headers.get('x-served-by')).toBe('me');
    const startedAt = performance.now();
    expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  it('refuses wrong settings with 1, all mistakes and no stack', async () => {
    await using service = await ServiceProcess.spawn({ LOCK_STORE: 'etcd', CHUNK_OVERLAP: '600' });
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.output).toContain('LOCK_STORE is "etcd"; it must be');
    expect(service.output).toContain('CHUNK_OVERLAP is 600');
    expect(service.output).not.toMatch(/^\s+at /m);
  });
});

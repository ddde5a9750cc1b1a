/**
 * A program for `docker exec`: what a worker would do that never looked at its lease. With the
 * service's own code it publishes its run under the fence it once got, and says how that ended.
 */
export function lateWrite(documentId: string, fence: string): string[] {
  const program = `
    import { Database } from '/app/dist/database/index.js';
    import { DocumentRunsRepository } from '/app/dist/documents/document-runs.repository.js';
    const database = await Database.open({ dataDir: '/data', url: process.env.DATABASE_URL });
    const made = { pages: 1, chunks: 1, processedHash: 'late', embeddingModel: 'late' };
    const write = new DocumentRunsRepository(database).publish(${JSON.stringify(documentId)}, ${fence}n, made);
    console.log(await write.then(() => 'written', (error) => error.code));
    await database.close();`;
  return ['node', '--input-type=module', '--eval', program];
}

import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import request, { type Agent, type Response, type Test } from 'supertest';
import type { DatabaseDialect } from '../../src/database/index.js';
import { startApp, type TestApp } from './app.js';
import { type PostgresServer, startPostgres } from './postgres.js';

interface Search {
  passages: { page: number | null; text: string; score: number }[];
}

/** Requests to the application that is being tested. */
export interface DocumentsOverHttp {
  readonly test: TestApp;
  readonly api: () => Agent;
  readonly putText: (id: string, text: string, title?: string) => Test;
  /** The passages that are found in one document. */
  readonly search: (id: string, q: string) => Promise<Search['passages']>;
}

const dialects: readonly DatabaseDialect[] = ['sqlite', 'postgres'];

/** Registers `suite` twice: for an application on SQLite, and for one on a PostgreSQL server started for it. */
export function documentsOverHttp(suite: (documents: DocumentsOverHttp) => void): void {
  describe.each(dialects)('documents over HTTP, kept in %s', (dialect) => {
    let postgres: PostgresServer | undefined;
    let test: TestApp;

    beforeAll(async () => {
      if (dialect === 'postgres') postgres = await startPostgres();
      test = await startApp({
        UPLOAD_LIMIT_MB: '1',
        CHUNK_SIZE: '120',
        CHUNK_OVERLAP: '20',
        EMBED_WORKERS: '1',
        ...(postgres && { DATABASE_URL: postgres.url, LOCK_STORE: 'memory' }),
      });
    });

    afterAll(async () => {
      await test?.close();
      await postgres?.stop();
    });

    const api = () => request(test.url);

    suite({
      get test() {
        return test;
      },
      api,
      putText: (id, text, title = 'A text') => api().put(`/documents/${id}`).send({ title, text }),
      async search(id, q) {
        const response = await api().get(`/documents/${id}/search`).query({ q }).expect(200);
        const body: Search = response.body;
        return body.passages;
      },
    });
  });
}

/** Expects the answer to be that problem, in the form that all problems have. */
export function expectProblem(response: Response, status: number, code: string): void {
  expect(response.headers['content-type']).toMatch(/^application\/problem\+json/);
  expect(response.body).toMatchObject({ status, code, type: `urn:doclock:problem:${code}` });
  expect(response.status).toBe(status);
  expect(response.headers['x-served-by']).toBeDefined();
}

import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_CONFIG, type AppConfig, type LlmConfig } from '../config/index.js';
import {
  fingerprintOf,
  KeyPool,
  MemoryPoolStore,
  type PoolTerms,
  RedisPoolStore,
} from '../key-pool/index.js';
import { RedisClients } from '../redis/index.js';
import { LlmClient } from './llm-client.js';
import { LLM, type Llm } from './llm.js';

/** A request that waited longer for its key is worth a line in the log: there may be too few keys. */
const LONG_WAIT_MS = 1_000;

/** The language model with its pool of keys, under LLM; null where none is set up. */
@Global()
@Module({
  providers: [{ provide: LLM, inject: [APP_CONFIG, RedisClients], useFactory: createLlm }],
  exports: [LLM],
})
export class LlmModule implements OnApplicationShutdown {
  constructor(@Inject(LLM) private readonly llm: Llm | null) {}

  /** After the last request: the keys that are held go back. */
  async onApplicationShutdown(): Promise<void> {
    await this.llm?.pool.shutdown(0);
  }
}

function createLlm(config: AppConfig, clients: RedisClients): Llm | null {
  const { llm } = config;
  if (!llm) return null;
  const pool = new KeyPool({
    name: 'llm',
    keys: llm.apiKeys,
    store: poolStore(config, termsOf(llm), clients),
    label: config.instanceId,
    maxHoldMs: llm.timeoutMs + 30_000,
  });
  logEvents(pool, new Logger('KeyPool'));
  const { baseUrl, waitMs, timeoutMs, chatModel, embed } = llm;
  return { pool, client: new LlmClient({ baseUrl, pool, waitMs, timeoutMs }), chatModel, embed };
}

function logEvents({ events }: KeyPool, logger: Logger): void {
  events.on('quarantined', ({ member, why }) =>
    logger.warn(`Key ${member} was answered ${why} and is out of use. Exchange it, or readmit it.`),
  );
  events.on('rested', ({ member, forMs }) =>
    logger.log(`Key ${member} was answered 429 and rests for ${forMs} ms on all replicas.`),
  );
  events.on('taken', ({ member, waitedMs }) => {
    if (waitedMs < LONG_WAIT_MS) return;
    logger.log(`A request waited ${Math.round(waitedMs)} ms for a key, and has ${member} now.`);
  });
}

function termsOf({
  apiKeys,
  keyConcurrency,
  requestsPerMinute,
  tokensPerMinute,
}: LlmConfig): PoolTerms {
  return {
    members: apiKeys.map(fingerprintOf),
    concurrency: keyConcurrency,
    requestsPerMinute: requestsPerMinute ?? undefined,
    tokensPerMinute: tokensPerMinute ?? undefined,
  };
}

function poolStore({ redis, lock }: AppConfig, terms: PoolTerms, clients: RedisClients) {
  if (!redis) return new MemoryPoolStore(terms);
  return new RedisPoolStore({
    client: clients.create('keys'),
    terms,
    prefix: `${lock.prefix}pool:`,
  });
}

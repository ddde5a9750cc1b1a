import { Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import { Database } from '../database/index.js';
import { LLM, type Llm } from '../llm/index.js';
import { ChromaVectorStore } from './adapters/chroma/chroma-vector-store.js';
import { SqlVectorStore } from './adapters/sql-vector-store.js';
import { LlmEmbedder } from './adapters/llm-embedder.js';
import { UseEmbedder } from './adapters/use-embedder.js';
import { AbandonedUploads } from './contents/abandoned-uploads.js';
import { ContentsRepository } from './contents/contents.repository.js';
import { DocumentPointers } from './document-pointers.js';
import { DocumentQueue } from './document-queue.js';
import { DocumentReader } from './document-reader.js';
import { DocumentRunsRepository } from './document-runs.repository.js';
import { DocumentsController } from './documents.controller.js';
import { DocumentsRepository } from './documents.repository.js';
import { DocumentsService } from './documents.service.js';
import { OrphanSweeper } from './orphan-sweeper.js';
import { Extractor } from './pipeline/extract/index.js';
import { Pipeline } from './pipeline/run/pipeline.js';
import { Sweeper } from './pipeline/run/sweeper.js';
import { WorkerThreads } from './pipeline/run/worker-threads.js';
import { EMBEDDER, type Embedder } from './ports/embedder.js';
import { VECTOR_STORE, type VectorStore } from './ports/vector-store.js';
import { ProcessingController } from './processing.controller.js';
import { ProcessingQueue } from './processing-queue.js';
import { ProcessingService } from './processing.service.js';
import { ProcessingSlots } from './processing-slots.js';
import { ProgressStream } from './progress-stream.js';
import { SearchService } from './search.service.js';
import { SweepMarks } from './sweep-marks.js';

/** Documents: taken in, processed by one worker at a time, searched. */
@Module({
  controllers: [DocumentsController, ProcessingController],
  providers: [
    ContentsRepository,
    AbandonedUploads,
    DocumentsRepository,
    DocumentRunsRepository,
    DocumentPointers,
    DocumentQueue,
    DocumentReader,
    OrphanSweeper,
    SweepMarks,
    DocumentsService,
    ProcessingQueue,
    ProcessingService,
    ProcessingSlots,
    ProgressStream,
    SearchService,
    Pipeline,
    Sweeper,
    WorkerThreads,
    {
      provide: VECTOR_STORE,
      inject: [APP_CONFIG, Database, DocumentPointers],
      useFactory: vectorStore,
    },
    {
      provide: EMBEDDER,
      inject: [APP_CONFIG, LLM],
      useFactory: embedder,
    },
    {
      provide: Extractor,
      inject: [APP_CONFIG],
      useFactory: ({ documents }: AppConfig) => new Extractor(documents.extract),
    },
  ],
  exports: [VECTOR_STORE, SearchService],
})
export class DocumentsModule {}

function embedder({ documents }: AppConfig, llm: Llm | null): Embedder {
  return llm?.embed
    ? new LlmEmbedder({ client: llm.client, ...llm.embed })
    : new UseEmbedder({ workers: documents.embedWorkers });
}

function vectorStore(
  { chromaUrl }: AppConfig,
  database: Database,
  pointers: DocumentPointers,
): VectorStore {
  return chromaUrl === null
    ? new SqlVectorStore(database)
    : new ChromaVectorStore(pointers, { url: chromaUrl });
}

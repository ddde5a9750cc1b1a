import {
  Controller,
  Get,
  Headers,
  HttpCode,
  Param,
  Post,
  Query,
  Req,
  Res,
  Sse,
  SseSignal,
} from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Observable } from 'rxjs';
import {
  Answers,
  AnswersAs,
  clientOf,
  Problems,
  Rules,
  TakesKey,
  WhileConnected,
} from '../http/index.js';
import { Idempotent, recordAnswer } from '../idempotency/index.js';
import { DocumentId } from './dto/document-id.dto.js';
import { AcceptedView, ProcessedView } from './dto/processed.view.js';
import { SearchQuery } from './dto/search-query.dto.js';
import { modelProblems } from './model-problems.js';
import { ProcessingService } from './processing.service.js';
import { type ProgressEvent, ProgressStream } from './progress-stream.js';
import { SearchView } from './dto/search.view.js';
import { SearchService } from './search.service.js';
import { wantsAsync } from './dto/prefer.js';

/** Characters of events for a client that reads none of them; about a hundred, then the connection is cut. */
const MAX_PENDING_EVENTS = 64 * 1024;

/** What is done with documents. */
@Controller('documents/:id')
export class ProcessingController {
  constructor(
    private readonly processing: ProcessingService,
    private readonly progress: ProgressStream,
    private readonly searching: SearchService,
  ) {}

  @Post('process')
  @TakesKey()
  @Answers(ProcessedView, 200, 'Processed.')
  @Answers(AcceptedView, 202, 'Queued; see the document at Location.')
  @Problems(
    'document_not_found',
    'unreadable_document',
    'lock_wait_timeout',
    'lock_busy',
    'document_queued',
    'queue_full',
    'queue_wait_timeout',
    'lock_unavailable',
    'lease_lost',
    'database_unavailable',
    'vectors_unavailable',
    ...modelProblems,
  )
  @ApiHeader({
    name: 'Prefer',
    required: false,
    description: '`respond-async` has it queued, and answered 202 at once.',
    schema: { type: 'string', example: 'respond-async' },
  })
  @Idempotent()
  @HttpCode(200)
  async process(
    @Param() { id }: DocumentId,
    @Headers('prefer') prefer: string | undefined,
    @WhileConnected() connected: AbortSignal | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProcessedView | AcceptedView> {
    if (!wantsAsync(prefer)) return this.processing.process(id, connected);
    const accepted: AcceptedView = { status: 'accepted', id };
    await this.processing.accept(id, async (transaction) => {
      void reply.code(202).headers({
        location: `/documents/${id}`,
        'preference-applied': 'respond-async',
      });
      await recordAnswer(transaction, accepted);
    });
    return accepted;
  }

  @Sse('events', { maxPendingDataLength: MAX_PENDING_EVENTS })
  @AnswersAs('text/event-stream', 'Every change of the document as an event.')
  @Problems('document_not_found', 'stream_limit', 'streams_full', 'database_unavailable')
  events(
    @Param() { id }: DocumentId,
    @Req() request: FastifyRequest,
    @SseSignal() ended: AbortSignal,
  ): Promise<Observable<ProgressEvent>> {
    const isOnce = request.method === 'HEAD';
    return this.progress.watch(id, { client: clientOf(request), ended, isOnce });
  }

  @Get('search')
  @Answers(SearchView)
  @Problems(
    'document_not_found',
    'embedder_changed',
    'database_unavailable',
    'vectors_unavailable',
    ...modelProblems,
    'lock_unavailable',
  )
  @Rules({ rate: 0.5 })
  search(
    @Param() { id }: DocumentId,
    @Query() { q, limit }: SearchQuery,
    @WhileConnected() connected: AbortSignal | undefined,
  ): Promise<SearchView> {
    return this.searching.search(id, q, limit, connected);
  }
}

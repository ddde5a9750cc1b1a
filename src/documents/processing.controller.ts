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
} from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Observable } from 'rxjs';
import { Rules } from '../http/index.js';
import { Idempotent } from '../idempotency/index.js';
import { DocumentId } from './dto/document-id.dto.js';
import { type ProcessedView } from './dto/processed.view.js';
import { SearchQuery } from './dto/search-query.dto.js';
import { ProcessingService } from './processing.service.js';
import { type ProgressEvent, ProgressStream } from './progress-stream.js';
import { SearchService, type SearchView } from './search.service.js';
import { wantsAsync } from './dto/prefer.js';

/** What is done with documents. */
@Controller('documents/:id')
export class ProcessingController {
  constructor(
    private readonly processing: ProcessingService,
    private readonly progress: ProgressStream,
    private readonly searching: SearchService,
  ) {}

  @Post('process')
  @Idempotent()
  @HttpCode(200)
  async process(
    @Param() { id }: DocumentId,
    @Headers('prefer') prefer: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProcessedView | { status: 'accepted'; id: string }> {
    if (!wantsAsync(prefer)) return this.processing.process(id);
    await this.processing.start(id);
    void reply.code(202).headers({
      location: `/documents/${id}`,
      'preference-applied': 'respond-async',
    });
    return { status: 'accepted', id };
  }

  @Sse('events')
  events(
    @Param() { id }: DocumentId,
    @Req() { method }: FastifyRequest,
  ): Promise<Observable<ProgressEvent>> {
    return this.progress.watch(id, { isOnce: method === 'HEAD' });
  }

  @Get('search')
  @Rules({ rate: 0.5 })
  search(@Param() { id }: DocumentId, @Query() { q, limit }: SearchQuery): Promise<SearchView> {
    return this.searching.search(id, q, limit);
  }
}

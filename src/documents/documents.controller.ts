import { Readable } from 'node:stream';
import {
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Post,
  Put,
  Query,
  Req,
  Res,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { Answers, AnswersAs, PageQuery, Problems, Rules, Takes, TakesKey } from '../http/index.js';
import { Idempotent, recordAnswer } from '../idempotency/index.js';
import { DocumentReader } from './document-reader.js';
import { DocumentsService } from './documents.service.js';
import { DocumentListView, DocumentView } from './dto/document.view.js';
import { DocumentId } from './dto/document-id.dto.js';
import { FormUpload } from './dto/form-upload.dto.js';
import { JsonUpload } from './dto/json-upload.dto.js';
import { readUpload } from './upload/read-upload.js';
import { type ReceivedUpload } from './upload/received-upload.js';
import { Received, UploadInterceptor } from './upload/upload.interceptor.js';

const uploadBodies = { 'multipart/form-data': FormUpload, 'application/json': JsonUpload };
const uploads = { body: 'upload', rate: 0.25 } as const;

/** Documents as a resource. */
@Controller('documents')
export class DocumentsController {
  constructor(
    private readonly documents: DocumentsService,
    private readonly reader: DocumentReader,
  ) {}

  @Post()
  @Rules(uploads)
  @TakesKey()
  @Takes(uploadBodies)
  @Answers(DocumentView, 201, 'Stored.')
  @Problems('database_unavailable')
  @Idempotent()
  @UseInterceptors(UploadInterceptor)
  async create(
    @Received() received: ReceivedUpload | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DocumentView> {
    const upload = await readUpload(received);
    return this.documents.create(upload, async (transaction, view) => {
      void reply.header('location', `/documents/${view.id}`);
      await recordAnswer(transaction, view);
    });
  }

  @Put(':id')
  @Rules(uploads)
  @Takes(uploadBodies)
  @Answers(DocumentView, 200, 'Replaced, or the same as before.')
  @Answers(DocumentView, 201, 'Stored.')
  @Problems(
    'lock_busy',
    'lock_unavailable',
    'lease_lost',
    'database_unavailable',
    'vectors_unavailable',
  )
  @UseInterceptors(UploadInterceptor)
  async put(
    @Param() { id }: DocumentId,
    @Received() received: ReceivedUpload | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DocumentView> {
    const upload = await readUpload(received);
    const { view, isNew } = await this.documents.put(id, upload);
    void reply.code(isNew ? 201 : 200).header('location', `/documents/${id}`);
    return view;
  }

  @Get()
  @Answers(DocumentListView)
  @Problems('invalid_cursor', 'database_unavailable')
  list(@Query() query: PageQuery): Promise<DocumentListView> {
    return this.reader.list(query);
  }

  @Get(':id')
  @Answers(DocumentView)
  @Problems('document_not_found', 'database_unavailable')
  read(@Param() { id }: DocumentId): Promise<DocumentView> {
    return this.reader.read(id);
  }

  @Get(':id/content')
  @AnswersAs('*/*', 'The bytes as they were uploaded.')
  @Problems('document_not_found', 'bodies_full', 'database_unavailable')
  async content(
    @Param() { id }: DocumentId,
    @Req() { method }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StreamableFile> {
    const { mediaType, sizeBytes, pieces } = await this.documents.content(id);
    const type = mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType;
    void reply.header('x-content-type-options', 'nosniff');
    const bytes = Readable.from(method === 'HEAD' ? [] : pieces, { objectMode: false });
    return new StreamableFile(bytes, { type, length: sizeBytes, disposition: 'attachment' });
  }

  @Delete(':id')
  @HttpCode(204)
  @Problems(
    'document_not_found',
    'lock_busy',
    'lock_unavailable',
    'lease_lost',
    'database_unavailable',
    'vectors_unavailable',
  )
  delete(@Param() { id }: DocumentId): Promise<void> {
    return this.documents.delete(id);
  }
}

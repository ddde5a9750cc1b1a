import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  Logger,
  type NestInterceptor,
} from '@nestjs/common';
import { type FastifyRequest } from 'fastify';
import { finalize, type Observable } from 'rxjs';
import { APP_CONFIG, type AppConfig } from '../../config/index.js';
import { FIELDS_LIMIT_BYTES, incomingBody, parseJson, readForm } from '../../http/index.js';
import { ContentWriter } from '../contents/content-writer.js';
import { ContentsRepository } from '../contents/contents.repository.js';
import { JsonText } from './json-text.js';
import { type ReceivedFile, type ReceivedUpload } from './received-upload.js';

declare module 'fastify' {
  interface FastifyRequest {
    received?: ReceivedUpload;
  }
}

/** What the UploadInterceptor has received; undefined for a request that is neither a form nor JSON. */
export const Received = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  return context.switchToHttp().getRequest<FastifyRequest>().received;
});

const formLimits = {
  fileField: 'file',
  maxFields: 1,
  maxFieldBytes: 2_000,
  maxFieldNameLength: 100,
};

/**
 * Receives a document, a form's file or the text of a JSON body, straight into the store; what the handler
 * did not publish is removed when it has ended.
 */
@Injectable()
export class UploadInterceptor implements NestInterceptor {
  private readonly logger = new Logger(UploadInterceptor.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly contents: ContentsRepository,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const writer = new ContentWriter(this.contents);
    const discard = () => this.discard(writer);
    try {
      const received = await this.receive(request, writer);
      if (received) {
        const { fields, file } = received;
        // What tells one request from another, for who asks for idempotency.
        Object.assign(request, { received, body: fields, file });
      }
    } catch (error) {
      await discard();
      throw error;
    }
    return next.handle().pipe(finalize(() => void discard()));
  }

  /** What stays is removed later, as that of a process that was killed. */
  private async discard(writer: ContentWriter): Promise<void> {
    await writer.discard().catch((error: unknown) => {
      this.logger.warn(`The pieces of an upload that was given up stay for now: ${String(error)}`);
    });
  }

  private async receive(
    request: FastifyRequest,
    writer: ContentWriter,
  ): Promise<ReceivedUpload | undefined> {
    const type = request.headers['content-type']?.trim().toLowerCase() ?? '';
    if (type.startsWith('multipart/form-data')) return this.receiveForm(request, writer);
    return type === '' ? undefined : this.receiveJson(request, writer);
  }

  private async receiveForm(
    { headers, raw }: FastifyRequest,
    writer: ContentWriter,
  ): Promise<ReceivedUpload> {
    const { uploadLimitBytes: maxFileBytes } = this.config.http;
    const body = incomingBody(raw, maxFileBytes + FIELDS_LIMIT_BYTES);
    let file: ReceivedFile | undefined;
    const fields = await readForm(
      {
        headers,
        body,
        onFile: async ({ fieldName, fileName, mediaType }, bytes) => {
          for await (const part of bytes) await writer.write(part as Buffer);
          file = fileOf(writer, fieldName, fileName, mediaType);
        },
      },
      { ...formLimits, maxFileBytes },
    );
    return { kind: 'form', fields, file };
  }

  private async receiveJson(
    request: FastifyRequest,
    writer: ContentWriter,
  ): Promise<ReceivedUpload> {
    const json = new JsonText();
    for await (const part of incomingBody(request.raw, this.config.http.uploadLimitBytes)) {
      const text = json.push(part).replaceAll('\0', '');
      if (text !== '') await writer.write(Buffer.from(text));
    }
    const fields = await parseJson(request, json.frame());
    const file = json.hasText ? fileOf(writer, 'text', '', 'text/plain') : undefined;
    return { kind: 'json', fields, file };
  }
}

function fileOf(
  writer: ContentWriter,
  fieldname: string,
  originalname: string,
  mimetype: string,
): ReceivedFile {
  const content = writer.end();
  const { head } = writer;
  return { fieldname, originalname, mimetype, sha256: content.sha256, content, head };
}

import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { type FastifyReply } from 'fastify';
import { DocumentId, modelProblems } from '../documents/index.js';
import { Answers, Problems, RecordId, Rules, TakesKey, WhileConnected } from '../http/index.js';
import { Idempotent, recordAnswer } from '../idempotency/index.js';
import { Conversation } from './conversation.js';
import {
  type AddedConversation,
  ConversationPage,
  ConversationsRepository,
} from './conversations.repository.js';
import { ConversationsService } from './conversations.service.js';
import { ConversationsQuery } from './dto/conversations-query.dto.js';
import { Question } from './dto/question.dto.js';

/** Questions, and the conversations they make. */
@Controller()
export class ConversationsController {
  constructor(
    private readonly service: ConversationsService,
    private readonly conversations: ConversationsRepository,
  ) {}

  @Post('documents/:id/questions')
  @Rules({ rate: 0.5 })
  @TakesKey()
  @Answers(Conversation, 201, 'Answered and recorded.')
  @Problems(
    'document_not_found',
    'embedder_changed',
    'database_unavailable',
    'vectors_unavailable',
    ...modelProblems,
    'lock_unavailable',
  )
  @Idempotent()
  async ask(
    @Param() { id }: DocumentId,
    @Body() { question, limit }: Question,
    @WhileConnected() connected: AbortSignal | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Conversation> {
    const record: AddedConversation = async (transaction, conversation) => {
      void reply.header('location', `/conversations/${conversation.id}`);
      await recordAnswer(transaction, conversation);
    };
    return this.service.ask(id, { question, limit }, record, connected);
  }

  @Get('conversations')
  @Answers(ConversationPage)
  @Problems('invalid_cursor', 'database_unavailable')
  list(@Query() query: ConversationsQuery): Promise<ConversationPage> {
    return this.conversations.list(query);
  }

  @Get('conversations/:id')
  @Answers(Conversation)
  @Problems('conversation_not_found', 'database_unavailable')
  read(@Param() { id }: RecordId): Promise<Conversation> {
    return this.service.read(id);
  }
}

import { Body, Controller, Get, Param, ParseUUIDPipe, Post, Query, Res } from '@nestjs/common';
import { type FastifyReply } from 'fastify';
import { DocumentId } from '../documents/index.js';
import { type Conversation } from './conversation.js';
import { type ConversationPage, ConversationsRepository } from './conversations.repository.js';
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
  async ask(
    @Param() { id }: DocumentId,
    @Body() { question, limit }: Question,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Conversation> {
    const conversation = await this.service.ask(id, question, limit);
    void reply.header('location', `/conversations/${conversation.id}`);
    return conversation;
  }

  @Get('conversations')
  list(@Query() query: ConversationsQuery): Promise<ConversationPage> {
    return this.conversations.list(query);
  }

  @Get('conversations/:id')
  read(@Param('id', ParseUUIDPipe) id: string): Promise<Conversation> {
    return this.service.read(id);
  }
}

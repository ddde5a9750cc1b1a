import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import { SearchService } from '../documents/index.js';
import { Answering } from './answering.js';
import { type Conversation } from './conversation.js';
import { ConversationNotFoundError } from './conversations.errors.js';
import { type AddedConversation, ConversationsRepository } from './conversations.repository.js';
import { type Question } from './dto/question.dto.js';

/** Answers questions about documents, and keeps what was asked and answered. */
@Injectable()
export class ConversationsService {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly conversations: ConversationsRepository,
    private readonly searching: SearchService,
    private readonly answering: Answering,
  ) {}

  /**
   * The best passages for a question, and what a language model makes of them where one is set up,
   * recorded; what `within` writes with its transaction is part of that. Costs one search, one call of
   * the model and one insert.
   * When `waitSignal` aborts before the model is asked, nobody waits for it any more.
   * @throws DocumentNotFoundError, what the model throws, or the signal's reason; nothing is recorded then
   */
  async ask(
    documentId: string,
    { question, limit }: Question,
    within: AddedConversation,
    waitSignal?: AbortSignal,
  ): Promise<Conversation> {
    const { passages } = await this.searching.search(documentId, question, limit, waitSignal);
    const answer = await this.answering.answer(question, passages, waitSignal);
    const { instanceId: replica } = this.config;
    const conversation = { documentId, question, passages, answer, replica };
    return this.conversations.add(conversation, within);
  }

  /** @throws ConversationNotFoundError */
  async read(id: string): Promise<Conversation> {
    const conversation = await this.conversations.find(id);
    if (!conversation) throw new ConversationNotFoundError(id);
    return conversation;
  }
}

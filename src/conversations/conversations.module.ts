import { Module } from '@nestjs/common';
import { DocumentsModule } from '../documents/index.js';
import { Answering } from './answering.js';
import { ConversationsController } from './conversations.controller.js';
import { ConversationsRepository } from './conversations.repository.js';
import { ConversationsService } from './conversations.service.js';

/** Questions about documents, answered and recorded. */
@Module({
  imports: [DocumentsModule],
  controllers: [ConversationsController],
  providers: [Answering, ConversationsRepository, ConversationsService],
  exports: [ConversationsRepository],
})
export class ConversationsModule {}

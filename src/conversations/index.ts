export { type Conversation } from './conversation.js';
export { ConversationsModule } from './conversations.module.js';
export { ConversationsRepository } from './conversations.repository.js';

/** There is no conversation under this id, or it has been archived. */
export class ConversationNotFoundError extends Error {
  readonly code = 'conversation_not_found';

  constructor(id: string) {
    super(`There is no conversation "${id}". If it was had long ago, look into GET /archives.`);
    this.name = 'ConversationNotFoundError';
  }
}

/** The door of the room for the language model. */
export { type ChatMessage, LlmClient } from './llm-client.js';
export { LLM, type Llm } from './llm.js';
export { LlmModule } from './llm.module.js';

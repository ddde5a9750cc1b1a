import { Inject, Injectable } from '@nestjs/common';
import { LLM, type Llm } from '../llm/index.js';
import { checkCitations } from './citations.js';
import { type Answer, type AnsweringPassage } from './conversation.js';
import { prompt } from './prompt.js';

/** Makes answers of passages, where a language model is set up. */
@Injectable()
export class Answering {
  constructor(@Inject(LLM) private readonly llm: Llm | null) {}

  /**
   * An answer with its sources; null without a model or without passages: the passages alone answer then.
   * When `waitSignal` aborts, nobody waits for a key of the model any more; a request to it goes on.
   * @throws what LlmClient throws
   */
  async answer(
    question: string,
    passages: readonly AnsweringPassage[],
    waitSignal?: AbortSignal,
  ): Promise<Answer | null> {
    const { llm } = this;
    if (!llm?.chatModel || passages.length === 0) return null;
    const answer = await llm.client.chat(llm.chatModel, prompt(question, passages), { waitSignal });
    return { ...answer, ...checkCitations(answer.text, passages) };
  }
}

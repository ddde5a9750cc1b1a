import type { Instant } from './clock.js';

/**
 * Tickets of waiters that have not asked the store themselves: when they came, on the store's clock, as the last
 * reply tells it. Off by the way of that request to the store at most, always to the later side, as the ticket of
 * a newcomer is: whoever asks gets it when the store comes to it.
 */
export class TicketEstimate {
  private newcomer: { readonly ticketUs: number; readonly at: Instant } | undefined;
  private lastUs = 0;

  /** A ticket given by the store: no later one of this process is below it. */
  given(ticket: string): void {
    this.lastUs = Math.max(this.lastUs, Number(ticket));
  }

  /** Who had come at `at`, when the request was sent, would have got this ticket. */
  learn(newcomerTicketUs: number, at: Instant): void {
    this.newcomer = { ticketUs: newcomerTicketUs, at };
  }

  /** Asked for in the order of arrival. Undefined where no reply has told the store's time yet. */
  of(arrivedAt: Instant): string | undefined {
    if (!this.newcomer) return undefined;
    const { ticketUs, at } = this.newcomer;
    const us = Math.round(ticketUs + (arrivedAt.monoMs - at.monoMs) * 1_000);
    this.lastUs = Math.max(this.lastUs + 1, us);
    return String(this.lastUs);
  }
}

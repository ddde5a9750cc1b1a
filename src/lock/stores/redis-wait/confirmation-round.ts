import { type Confirmation } from './confirmation.js';

/**
 * Scripts that share one WAIT. Open until the first reply that needs confirmation; WAIT is sent when
 * all replies are in, since it counts only for what came earlier on the same socket.
 */
export class ConfirmationRound {
  /** Resolves once, with whatever comes first: the replicas' number, trouble, or a lost connection. */
  readonly confirmation: Promise<Confirmation>;
  private resolve: (confirmation: Confirmation) => void = () => undefined;
  private underWay = 0;
  private needsConfirmation = false;
  private ended = false;

  constructor(
    /** How many replicas must have it, asked for on the same connection. */
    readonly wanted: Promise<number>,
    private readonly onReplies: (round: ConfirmationRound) => void,
  ) {
    this.confirmation = new Promise((resolve) => {
      this.resolve = resolve;
    });
    wanted.catch(() => undefined); // told to those who ask for confirmation, if any
  }

  /** Whether another script may join. */
  get isOpen(): boolean {
    return !this.needsConfirmation && !this.ended;
  }

  get isOver(): boolean {
    return this.ended;
  }

  /** All replies are in, and at least one of them is worth a WAIT. */
  get isDue(): boolean {
    return this.needsConfirmation;
  }

  /** Passes a reply on, and notes whether it needs confirmation. */
  async join<T>(reply: Promise<T>, needsConfirmation: (reply: T) => boolean): Promise<T> {
    this.underWay += 1;
    try {
      const value = await reply;
      this.needsConfirmation ||= needsConfirmation(value);
      return value;
    } finally {
      this.underWay -= 1;
      if (this.underWay === 0 && !this.ended) this.onReplies(this);
    }
  }

  end(confirmation: Confirmation): void {
    this.ended = true;
    this.resolve(confirmation);
  }
}

/** What one request was for. */
export type OperationKind =
  | 'upload'
  | 'process'
  | 'process-async'
  | 'search'
  | 'ask'
  | 'ask-once'
  | 'archive'
  | 'read'
  | 'delete';

/** One request and what became of it. Times are ms since the epoch on the machine's clock. */
export interface Operation {
  readonly kind: OperationKind;
  readonly document: string;
  readonly replica: string;
  readonly sentAt: number;
  readonly endedAt: number;
  /** undefined where no answer came. */
  readonly status: number | undefined;
  /** Of a problem; why there was no answer, where there was none. */
  readonly code: string | undefined;
  readonly body: unknown;
  /** The question that it put with an Idempotency-Key, which is the question itself. */
  readonly onceAsked?: string | undefined;
}

/** A fault from its injection to the moment when everything worked again. */
export interface InjectedFault {
  readonly kind: string;
  readonly at: number;
  healedAt: number;
  /** When every replica had taken a lock and given it back since; undefined where that never came. */
  recoveredAt: number | undefined;
}

/** Something that touches what the lock store may be held to, at the instant before it happened. */
export interface StoreLoss {
  readonly at: number;
  readonly what: string;
  readonly losesLocks?: boolean;
  readonly losesFences?: boolean;
  /** By how much the server's clock went ahead (back, when negative), in ms. */
  readonly serverClockMs?: number;
}

/** A time in which a replica could not answer: dead, being ended, frozen, or starting. */
export interface Outage {
  readonly replica: string;
  readonly why: string;
  readonly from: number;
  /** Infinity while it lasts. */
  to: number;
}

/** Everything that is known of a campaign but for what the database says. */
export class Journal {
  readonly operations: Operation[] = [];
  /** Requests that have been sent and not ended. */
  readonly underWay = new Set<Pick<Operation, 'kind' | 'replica'>>();
  readonly faults: InjectedFault[] = [];
  readonly losses: StoreLoss[] = [];
  readonly outages: Outage[] = [];
  /** What was found wrong. */
  readonly violations: string[] = [];
  /** What could not be done here, and why. */
  readonly skipped: string[] = [];

  /** @param say told what is going on */
  constructor(readonly say: (line: string) => void = () => undefined) {}

  /** Notes what is wrong; the first hundred such notes. */
  violation(what: string): void {
    if (this.violations.length >= MOST_VIOLATIONS) return;
    this.violations.push(what);
    this.say(`VIOLATION: ${what}`);
  }

  /** Notes what is about to happen to the lock store. */
  loss(what: string, loss: Omit<StoreLoss, 'at' | 'what'>): void {
    this.losses.push({ at: Date.now(), what, ...loss });
  }

  /** Notes that a replica cannot answer from now on; the function that is given back ends that. */
  outage(replica: string, why: string): () => void {
    const outage: Outage = { replica, why, from: Date.now(), to: Infinity };
    this.outages.push(outage);
    return () => {
      outage.to = Math.min(outage.to, Date.now());
    };
  }

  /** Whether a replica could not answer at some moment of the span, or shortly before or after. */
  wasOut(replica: string, from: number, to: number): boolean {
    return this.outages.some(
      (outage) =>
        outage.replica === replica && outage.from <= to + NEAR_MS && outage.to >= from - NEAR_MS,
    );
  }

  /** Whether a fault of that kind was at work in the span, or `beforeMs` earlier. */
  hadFault(kind: string, from: number, to: number, beforeMs: number): boolean {
    return this.faults.some(
      (fault) =>
        fault.kind === kind && fault.at <= to && (fault.recoveredAt ?? Infinity) >= from - beforeMs,
    );
  }
}

/** Connections break a moment after the process, and requests are sent a moment before that is noticed. */
const NEAR_MS = 2_000;

/** Whoever breaks everything need not be told of it ten thousand times. */
const MOST_VIOLATIONS = 100;

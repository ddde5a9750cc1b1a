/** Which promise was broken. */
export type Rule =
  | 'overlap'
  | 'fence'
  | 'write'
  | 'refusal'
  | 'unanswered'
  | 'late answer'
  | 'unexplained busy'
  | 'still inside'
  | 'left behind'
  | 'malformed';

/** One broken promise, with what a person needs to find it in the history. */
export interface Violation {
  readonly rule: Rule;
  readonly at: number;
  readonly what: string;
}

/** What a history amounts to. */
export interface HistoryReport {
  readonly asks: number;
  readonly grants: number;
  /** Holders that were told of the loss of their lease. */
  readonly losses: number;
  readonly accepted: number;
  readonly refused: number;
  /** How often each fault was injected. */
  readonly faults: Readonly<Record<string, number>>;
  /** Overlaps of proven intervals after a fault that broke a promise of the store. */
  readonly excusedOverlaps: number;
  /** Fences that fell after the store had lost the last one and its clock was behind. */
  readonly excusedFences: number;
  /** Must be empty. */
  readonly violations: readonly Violation[];
}

/** What a rule finds: broken promises, and those that a fault excuses. */
export interface Findings {
  readonly violations: readonly Violation[];
  readonly excused: number;
}

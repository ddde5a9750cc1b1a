import type { SteppedClock } from '../../support/clock-shift.js';
import type { FaultProxy } from '../../support/fault-proxy.js';
import type { ServiceEnv } from '../../support/service-process.js';
import type { Fault } from './fault.js';
import type { Journal } from './journal.js';

/** What the servers of a lock store are started for. */
export interface StoreTerms {
  readonly replicas: number;
  /** Connects the replicas past proxies, which cost time in the process that has them. */
  readonly direct: boolean;
  /** For servers that are to live by another clock than the machine's; undefined where clocks cannot be moved here. */
  readonly clock: SteppedClock | undefined;
  /** Of the documents' database; undefined where that is a file. */
  readonly databaseUrl: string | undefined;
  readonly journal: Journal;
  /** Notes what ends something that was started: done in the reverse order, also where the start fails later. */
  readonly atEnd: (end: () => Promise<unknown>) => void;
}

/** A lock as it lies in the store. */
export interface StoredName {
  readonly name: string;
  /** How long it lives yet if nobody renews it, in ms; undefined where the store does not tell. */
  readonly leftMs?: number;
}

/** The servers of one lock store: how replicas get at them, how they break, and what is left in them. */
export interface StoreWorld {
  /** The settings of a replica, numbered from 0, that say where its locks are. */
  settings(replica: number): ServiceEnv;
  /**
   * Of each replica, the proxies on its way to the servers. Empty where there are none: clients that follow
   * the addresses which servers announce go their own way.
   */
  readonly links: readonly (readonly FaultProxy[])[];
  /** What goes wrong with this store only. One that breaks a promise of the store notes the loss in the journal. */
  readonly faults: readonly Fault[];
  /** How long a lock may outlive a process that says nothing more, in ms. */
  readonly longestLifeMs: number;
  /** The locks that are there now, asked past all proxies. */
  locks(): Promise<readonly StoredName[]>;
  /** What is there and would never go by itself: one sentence each. */
  leftovers(): Promise<readonly string[]>;
}

/** Starts the servers of a store. @throws where they cannot be had here */
export type StartStore = (terms: StoreTerms) => Promise<StoreWorld>;

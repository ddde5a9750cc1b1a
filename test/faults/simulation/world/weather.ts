import type { Random } from './random.js';

/** How bad it gets in one simulation. Probabilities are per message, counts per simulation. */
export interface Weather {
  readonly name: string;
  /** A message is lost. */
  readonly loss: number;
  /** A request arrives twice. */
  readonly duplicate: number;
  /** A message takes far longer than usual, and others overtake it. */
  readonly slow: number;
  /** A process stops for a while: its clocks go on, nothing else does. */
  readonly pauses: number;
  /** A process dies, and another one takes its place. */
  readonly crashes: number;
  /** A process is shut down in order, and another one takes its place. */
  readonly shutdowns: number;
  /** A process cannot reach the store for a while. */
  readonly partitions: number;
  /** The store does not answer for a while. */
  readonly freezes: number;
  readonly serverSteps: number;
  readonly processSteps: number;
  /** The store restarts with nothing, or as it was some time ago. */
  readonly losses: number;
}

const calm: Weather = {
  name: 'calm',
  loss: 0,
  duplicate: 0,
  slow: 0,
  pauses: 0,
  crashes: 0,
  shutdowns: 0,
  partitions: 0,
  freezes: 0,
  serverSteps: 0,
  processSteps: 0,
  losses: 0,
};

const kinds: readonly Weather[] = [
  calm,
  { ...calm, name: 'lossy network', loss: 0.05, duplicate: 0.03 },
  { ...calm, name: 'slow network', slow: 0.1, duplicate: 0.02 },
  { ...calm, name: 'stopped processes', pauses: 6, slow: 0.08 },
  { ...calm, name: 'dying processes', crashes: 3, shutdowns: 1, loss: 0.01 },
  { ...calm, name: 'store out of reach', partitions: 3, freezes: 2 },
  { ...calm, name: 'clocks', serverSteps: 2, processSteps: 4, slow: 0.02 },
  { ...calm, name: 'forgetful store', losses: 2, loss: 0.02, slow: 0.02 },
  {
    name: 'storm',
    loss: 0.03,
    duplicate: 0.03,
    slow: 0.04,
    pauses: 2,
    crashes: 1,
    shutdowns: 1,
    partitions: 1,
    freezes: 1,
    serverSteps: 1,
    processSteps: 2,
    losses: 1,
  },
];

/** The weather of a seed; every kind comes about equally often. */
export function weatherOf(random: Random): Weather {
  return random.pick(kinds);
}

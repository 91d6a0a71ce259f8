import type { MarketOptions } from './market.ts';

/** What to measure. */
export interface Plan {
  /** Paid requests of each seller at the highest level before anything is measured. One round of the other levels follows. */
  readonly warmUp: number;
  /** Seconds without payments before the first round. Background work, such as probes of nodes, is uneven: short times differ much. */
  readonly idleSeconds: number;
  readonly rounds: number;
  /** Paid requests of a round, one at a time. */
  readonly alone: number;
  /** Paid requests of a round for each request in flight, where several are. */
  readonly perLane: number;
  readonly buyers: number;
  readonly sustainedTurns: number;
  /** Measured seconds of a sustained turn. */
  readonly sustainedSeconds: number;
  /** Paid requests of one wallet for one target, at each of its levels. */
  readonly oneWallet: number;
  /** Slots from processed to finalized on localnet; a validator has its own. */
  readonly finalityLag: number;
  readonly wallets: 'many' | 'one' | 'both';
  readonly chain: MarketOptions['chain'];
}

/** Requests in flight. */
export const LEVELS = [1, 16, 64] as const;
export type LoadLevel = (typeof LEVELS)[number];
export const SUSTAINED_LEVEL = 64;
export const ONE_WALLET_LEVELS = [8, 16] as const;

/** Paid requests of one round. */
export function roundCount({ alone, perLane }: Pick<Plan, 'alone' | 'perLane'>, inFlight: LoadLevel): number {
  return inFlight === 1 ? alone : inFlight * perLane;
}

type Size = Omit<Plan, 'chain' | 'wallets'>;

export const FULL: Size = {
  warmUp: 1_500,
  idleSeconds: 30,
  rounds: 3,
  alone: 15,
  perLane: 12,
  buyers: 64,
  sustainedTurns: 1,
  sustainedSeconds: 60,
  oneWallet: 60,
  finalityLag: 32,
};

/** About two minutes, for development. Its figures mean nothing. */
export const QUICK: Size = {
  warmUp: 64,
  idleSeconds: 5,
  rounds: 1,
  alone: 4,
  perLane: 2,
  buyers: 16,
  sustainedTurns: 1,
  sustainedSeconds: 6,
  oneWallet: 16,
  finalityLag: 8,
};

/**
 * Seconds of the load before a sustained turn is measured: 20 for 60. Work that a seller defers, such as the proof of finality,
 * thus takes processor time of the measured seconds as in a shop that is always busy.
 */
export function leadSeconds({ sustainedSeconds }: Pick<Plan, 'sustainedSeconds'>): number {
  return sustainedSeconds / 3;
}

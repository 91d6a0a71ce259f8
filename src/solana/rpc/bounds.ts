import type { Lane } from './rate-limiter.ts';

/** What a request of one method is given. */
export interface MethodBounds {
  /** More than an honest node ever answers; null where anybody may make its answer as long as any. */
  readonly maxBytes: number | null;
  readonly lane: Lane;
}

const KIB = 1_024;
const SCALAR = { maxBytes: 64 * KIB, lane: 'question' } as const;
const ANY_LENGTH = { maxBytes: null, lane: 'question' } as const;

/** Slots, or names of as many transactions as a block can have. */
const LIST = { maxBytes: 16_384 * KIB, lane: 'question' } as const;

/** A method that is not here has an answer of any length: whole blocks, and token accounts, with which wallets can be littered. */
const BOUNDS: Readonly<Record<string, MethodBounds>> = {
  sendTransaction: { ...SCALAR, lane: 'send' },
  getBlockHeight: SCALAR,
  getEpochInfo: SCALAR,
  getFeeCalculatorForBlockhash: SCALAR,
  getFeeForMessage: SCALAR,
  getFees: SCALAR,
  getFirstAvailableBlock: SCALAR,
  getGenesisHash: SCALAR,
  getLatestBlockhash: SCALAR,
  getMinimumBalanceForRentExemption: SCALAR,
  getRecentPrioritizationFees: SCALAR,
  getSlot: SCALAR,
  getVersion: SCALAR,
  isBlockhashValid: SCALAR,
  // 256 statuses, each with its error twice.
  getSignatureStatuses: { maxBytes: 256 * KIB, lane: 'question' },
  // Logs of 10,000 bytes, each of which may be escaped by six, and what the program returns.
  simulateTransaction: { maxBytes: 256 * KIB, lane: 'question' },
  // 100 accounts of which 16 KiB are asked for, in base64.
  getMultipleAccounts: { maxBytes: 4_096 * KIB, lane: 'question' },
  getBlocks: LIST,
  getBlocksWithLimit: LIST,
  // 1,000 entries, each with a memo as long as a transaction (4 KiB), each byte of which may be escaped by six.
  getSignaturesForAddress: { maxBytes: 32_768 * KIB, lane: 'question' },
  // 64 instructions of 10 KiB, and where a node does not cut them, logs of as many bytes as there are compute units: escaped by six.
  getTransaction: { maxBytes: 16_384 * KIB, lane: 'question' },
};

export function boundsOf(method: string, params: readonly unknown[]): MethodBounds {
  return method === 'getBlock' && !isWhole(params[1]) ? LIST : (BOUNDS[method] ?? ANY_LENGTH);
}

/** Whether these parameters of getBlock ask for what its transactions did. */
function isWhole(shown: unknown): boolean {
  if (typeof shown !== 'object' || shown === null || !('transactionDetails' in shown)) return true;
  return shown.transactionDetails !== 'signatures' && shown.transactionDetails !== 'none';
}

import type { Lane } from './rate-limiter.ts';

export interface MethodBounds {
  /** More than an honest node returns; null if users of the chain can make the answer arbitrarily long. */
  readonly maxBytes: number | null;
  readonly lane: Lane;
}

const KIB = 1_024;
const SCALAR = { maxBytes: 64 * KIB, lane: 'question' } as const;
const ANY_LENGTH = { maxBytes: null, lane: 'question' } as const;

/** Slots, or the signatures of all transactions in a block. */
const LIST = { maxBytes: 16_384 * KIB, lane: 'question' } as const;

/** Other methods have answers of any length: whole blocks, and token accounts, which anyone can create. */
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
  // 10,000 bytes of logs, each byte escaped to up to six, and the program's return data.
  simulateTransaction: { maxBytes: 256 * KIB, lane: 'question' },
  // 100 accounts with 16 KiB each, in base64.
  getMultipleAccounts: { maxBytes: 4_096 * KIB, lane: 'question' },
  getBlocks: LIST,
  getBlocksWithLimit: LIST,
  // 1,000 entries, each with a memo as long as a transaction (4 KiB), each byte escaped to up to six.
  getSignaturesForAddress: { maxBytes: 32_768 * KIB, lane: 'question' },
  // 64 instructions of 10 KiB. If a node does not truncate logs, they can have one byte per compute unit, escaped to
  // six.
  getTransaction: { maxBytes: 16_384 * KIB, lane: 'question' },
};

export function boundsOf(method: string, params: readonly unknown[]): MethodBounds {
  return method === 'getBlock' && !isWhole(params[1]) ? LIST : (BOUNDS[method] ?? ANY_LENGTH);
}

function isWhole(shown: unknown): boolean {
  if (typeof shown !== 'object' || shown === null || !('transactionDetails' in shown)) return true;
  return shown.transactionDetails !== 'signatures' && shown.transactionDetails !== 'none';
}

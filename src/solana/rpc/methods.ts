import type { Condensed, SolanaNode } from './node.ts';
import * as shape from './schemas.ts';
import type { ReadParts } from './wire.ts';

/** How sure a node must be of what it answers. */
export type Commitment = 'processed' | 'confirmed' | 'finalized';

/**
 * Bytes of an account that are read. No mint, token account or list of hook accounts that is paid by needs more; an account of
 * that size may be longer. Anybody can name accounts of 10 MiB as destinations, and their answers are shared with others.
 */
export const ACCOUNT_BYTES = 16_384;

const CONFIRMED = { commitment: 'confirmed' } as const;
const FINALIZED = { commitment: 'finalized' } as const;

// Every method that is asked for somebody's sake: its parameters as the chain wants them, and the shape of its answer. Each
// throws as `SolanaNode.call` does. A null proves nothing, unless it is said to.

/** The newest confirmed blockhash and the slot of its block. */
export const getLatestBlockhash = (node: SolanaNode) =>
  node.call('getLatestBlockhash', [CONFIRMED], shape.blockhashAnswer);

/** What nodes before Agave 2.0 give in place of getLatestBlockhash and getFeeForMessage. */
export const getFees = (node: SolanaNode) => node.call('getFees', [CONFIRMED], shape.feesAnswer);

/** Whether a bank, by default the finalized one, accepts a blockhash; false also where it does not know it yet. */
export const isBlockhashValid = (node: SolanaNode, blockhash: string, commitment: Commitment = 'finalized') =>
  node.call('isBlockhashValid', [blockhash, { commitment }], shape.blockhashValidAnswer);

/** What nodes before Agave 2.0 give in place of isBlockhashValid: null where the finalized bank does not take the blockhash. */
export const getFeeCalculatorForBlockhash = (node: SolanaNode, blockhash: string) =>
  node.call('getFeeCalculatorForBlockhash', [blockhash, FINALIZED], shape.feeCalculatorAnswer);

/** Lamports, priority included, for a message (base64); null where the bank does not know its blockhash. */
export const getFeeForMessage = (node: SolanaNode, message: string) =>
  node.call('getFeeForMessage', [message, CONFIRMED], shape.feeForMessageAnswer);

/** The block of a slot, with the signatures of its transactions where they are asked for. */
export const getBlock = (
  node: SolanaNode,
  slot: bigint,
  asked: {
    readonly commitment: Exclude<Commitment, 'processed'>;
    readonly transactionDetails: 'signatures' | 'none';
  },
  over?: AbortSignal,
) =>
  node.call(
    'getBlock',
    [Number(slot), { ...asked, rewards: false, ...versionsOf(node) }],
    shape.blockAnswer,
    over,
  );

/** For the finalized block of a slot, with the accounts of its transactions and what they did to them. */
const accountsOfBlock = (node: SolanaNode, slot: bigint) => [
  Number(slot),
  { transactionDetails: 'accounts', rewards: false, ...FINALIZED, ...versionsOf(node) },
];

/** The finalized block of a slot, with who signed each of its transactions. */
export const getBlockAccounts = (node: SolanaNode, slot: bigint, over?: AbortSignal) =>
  node.call('getBlock', accountsOfBlock(node, slot), shape.blockAccountsAnswer, over);

/** The outcomes of transactions in the finalized block of a slot, by their signatures, as far as it shows them readably. */
export const getBlockOutcomes = (node: SolanaNode, slot: bigint, signatures: readonly string[]) =>
  node.call('getBlock', accountsOfBlock(node, slot), shape.blockOutcomesAnswer(new Set(signatures)));

/** Slots of a range, both ends included, that have a block; a slot that is not among them may have one. */
export const getBlocks = (
  node: SolanaNode,
  first: bigint,
  last: bigint,
  commitment: Exclude<Commitment, 'processed'> = 'finalized',
) => node.call('getBlocks', [Number(first), Number(last), { commitment }], shape.slotsAnswer);

/**
 * The bytes of the whole answer with the block of a slot and what its transactions did to their accounts, or what `read` makes of one too
 * long to be held; null where the node shows no block, which never means that there is none. Throws as `SolanaNode.bytes` does.
 */
export const getBlockBytes = <Long extends Condensed>(
  node: SolanaNode,
  slot: bigint,
  commitment: Exclude<Commitment, 'processed'>,
  read: ReadParts<Long>,
  over?: AbortSignal,
) =>
  node.bytes(
    'getBlock',
    [
      Number(slot),
      {
        commitment,
        transactionDetails: 'accounts',
        encoding: 'jsonParsed',
        rewards: false,
        ...versionsOf(node),
      },
    ],
    read,
    over,
  );

/** The first block of which the node still has the transactions. */
export const getFirstAvailableBlock = (node: SolanaNode) =>
  node.call('getFirstAvailableBlock', [], shape.slotOrHeight);

/** At most `limit` slots from `first` on that have a finalized block; a slot that is not among them may have one. */
export const getBlocksWithLimit = (node: SolanaNode, first: bigint, limit: number) =>
  node.call('getBlocksWithLimit', [Number(first), limit, FINALIZED], shape.slotsAnswer);

export const getBlockHeight = (node: SolanaNode, commitment: Commitment) =>
  node.call('getBlockHeight', [{ commitment }], shape.slotOrHeight);

/** Epoch, slot and block height of one bank. */
export const getEpochInfo = (node: SolanaNode, commitment: Commitment = 'confirmed') =>
  node.call('getEpochInfo', [{ commitment }], shape.epochInfoAnswer);

/** Lamports that an account of `size` data bytes must hold. */
export const getMinimumBalanceForRentExemption = (node: SolanaNode, size: number) =>
  node.call('getMinimumBalanceForRentExemption', [size], shape.u64);

/** The most addresses that nodes take in one getMultipleAccounts. */
export const ACCOUNTS_PER_CALL = 100;

/**
 * Accounts (at most {@link ACCOUNTS_PER_CALL}) in the order of `addresses`, up to {@link ACCOUNT_BYTES}; null for one that the chain
 * does not have.
 */
export const getMultipleAccounts = (
  node: SolanaNode,
  addresses: readonly string[],
  commitment: Commitment = 'finalized',
) =>
  node.call(
    'getMultipleAccounts',
    [addresses, { encoding: 'base64', dataSlice: { offset: 0, length: ACCOUNT_BYTES }, commitment }],
    shape.accountsAnswer,
  );

/** The addresses of the finalized token accounts of a wallet under one token program. */
export const getTokenAccountsByOwner = (node: SolanaNode, wallet: string, programId: string) =>
  node.call(
    'getTokenAccountsByOwner',
    [wallet, { programId }, { encoding: 'base64', dataSlice: { offset: 0, length: 0 }, ...FINALIZED }],
    shape.tokenAccountsAnswer,
  );

/** What recent blocks took from transactions that lock these accounts (at most 128). */
export const getRecentPrioritizationFees = (node: SolanaNode, accounts: readonly string[]) =>
  node.call('getRecentPrioritizationFees', [accounts], shape.prioritizationFeesAnswer);

/**
 * Runs a transaction (base64) on the newest confirmed block, where that is not below `minContextSlot`; signatures are not checked, and
 * the blockhash may be `replaced`.
 */
export const simulateTransaction = (
  node: SolanaNode,
  raw: string,
  minContextSlot: bigint,
  replaced: boolean,
) =>
  node.call(
    'simulateTransaction',
    [
      raw,
      {
        encoding: 'base64',
        sigVerify: false,
        replaceRecentBlockhash: replaced,
        minContextSlot: Number(minContextSlot),
        ...CONFIRMED,
      },
    ],
    shape.simulationAnswer,
  );

/** Hands a transaction (base64) on as it is; the node neither tries it first nor sends it again by itself. */
export const sendTransaction = (node: SolanaNode, raw: string) =>
  node.call(
    'sendTransaction',
    [raw, { encoding: 'base64', skipPreflight: true, preflightCommitment: 'confirmed', maxRetries: 0 }],
    shape.textAnswer,
  );

/** What is known of these signatures (at most 256); only the newest ones are looked for, unless the whole history is. */
export const getSignatureStatuses = (
  node: SolanaNode,
  signatures: readonly string[],
  searchTransactionHistory: boolean,
) =>
  node.call(
    'getSignatureStatuses',
    [signatures, ...(searchTransactionHistory ? [{ searchTransactionHistory }] : [])],
    shape.statusesAnswer,
  );

/** Finalized transactions that name an address, newest first: at most `limit`, older than `before`. */
export const getSignaturesForAddress = (
  node: SolanaNode,
  address: string,
  page: { readonly limit: number; readonly before?: string },
) => node.call('getSignaturesForAddress', [address, { ...FINALIZED, ...page }], shape.signaturesAnswer);

/** The outcome of a transaction. */
export const getTransaction = (
  node: SolanaNode,
  signature: string,
  commitment: Exclude<Commitment, 'processed'> = 'finalized',
) =>
  node.call(
    'getTransaction',
    [signature, { encoding: 'base64', commitment, ...versionsOf(node) }],
    shape.transactionAnswer,
  );

/** A finalized transaction with what it did to its accounts, as getBlock shows it. Null proves nothing. */
export const getTransactionAccounts = (node: SolanaNode, signature: string) =>
  node.call(
    'getTransaction',
    [signature, { encoding: 'jsonParsed', ...FINALIZED, ...versionsOf(node) }],
    shape.transactionAccountsAnswer,
  );

/** A transaction as it was signed, and its slot. */
export const getSignedTransaction = (
  node: SolanaNode,
  signature: string,
  commitment: Exclude<Commitment, 'processed'> = 'finalized',
) =>
  node.call(
    'getTransaction',
    [signature, { encoding: 'base64', commitment, ...versionsOf(node) }],
    shape.signedTransactionAnswer,
  );

function versionsOf({ maxTransactionVersion }: SolanaNode) {
  return { maxSupportedTransactionVersion: maxTransactionVersion };
}

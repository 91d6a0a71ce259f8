import type { z } from 'zod';
import type { SolanaNode, StreamedAnswer } from './node.ts';
import * as shape from './schemas.ts';
import type { ReadParts } from './wire.ts';

export type Commitment = 'processed' | 'confirmed' | 'finalized';
type BlockCommitment = Exclude<Commitment, 'processed'>;

/**
 * Bytes that are read of each account; longer data is cut off. No mint, token account or extra account list of a
 * transfer hook needs more. A destination can be an account of 10 MiB, and one answer has accounts of several payments.
 */
export const MAX_ACCOUNT_BYTES = 16_384;

const CONFIRMED = { commitment: 'confirmed' } as const;
const FINALIZED = { commitment: 'finalized' } as const;

// One function per JSON-RPC method; each throws as `SolanaNode.call` does. A null result proves nothing unless the
// comment of the method says so.

export const getLatestBlockhash = (node: SolanaNode) =>
  node.call('getLatestBlockhash', [CONFIRMED], shape.blockhashAnswer);

/** Replaces getLatestBlockhash and getFeeForMessage on nodes before Agave 2.0. */
export const getFees = (node: SolanaNode) => node.call('getFees', [CONFIRMED], shape.feesAnswer);

/** True if the bank at `commitment` accepts the blockhash; also false if the bank does not have that block yet. */
export const isBlockhashValid = (node: SolanaNode, blockhash: string, commitment: Commitment = 'finalized') =>
  node.call('isBlockhashValid', [blockhash, { commitment }], shape.blockhashValidAnswer);

/** Replaces isBlockhashValid on nodes before Agave 2.0. Null if the finalized bank does not accept the blockhash. */
export const getFeeCalculatorForBlockhash = (node: SolanaNode, blockhash: string) =>
  node.call('getFeeCalculatorForBlockhash', [blockhash, FINALIZED], shape.feeCalculatorAnswer);

/** Fee of a message (base64) in lamports, with its priority fee; null if the bank does not accept its blockhash. */
export const getFeeForMessage = (node: SolanaNode, message: string) =>
  node.call('getFeeForMessage', [message, CONFIRMED], shape.feeForMessageAnswer);

export const getBlock = (
  node: SolanaNode,
  slot: bigint,
  options: {
    readonly commitment: BlockCommitment;
    readonly transactionDetails: 'signatures' | 'none';
  },
  signal?: AbortSignal,
) =>
  node.call(
    'getBlock',
    [Number(slot), { ...options, rewards: false, ...versionsOf(node) }],
    shape.blockAnswer,
    signal,
  );

/** Parameters that request a block with the accounts and balances of its transactions. */
const blockAccountsParams = (node: SolanaNode, slot: bigint, commitment: BlockCommitment = 'finalized') => [
  Number(slot),
  { commitment, transactionDetails: 'accounts', encoding: 'jsonParsed', rewards: false, ...versionsOf(node) },
];

/** The finalized block of a slot, with the signers of each transaction. */
export const getBlockAccounts = (node: SolanaNode, slot: bigint, signal?: AbortSignal) =>
  node.call('getBlock', blockAccountsParams(node, slot), shape.blockAccountsAnswer, signal);

/**
 * Outcomes of the given transactions in the finalized block of a slot, by signature. Unreadable outcomes are omitted.
 */
export const getBlockOutcomes = (node: SolanaNode, slot: bigint, signatures: readonly string[]) =>
  node.call('getBlock', blockAccountsParams(node, slot), shape.blockOutcomesAnswer(new Set(signatures)));

/** Slots with a block from `first` to `last`, both included. The list proves no absence: a node can omit slots. */
export const getBlocks = (
  node: SolanaNode,
  first: bigint,
  last: bigint,
  commitment: BlockCommitment = 'finalized',
) => node.call('getBlocks', [Number(first), Number(last), { commitment }], shape.slotsAnswer);

/**
 * The whole getBlock answer with accounts and balances, as bytes, or the result of `read` if it is too large for
 * memory. Null if the node returns no block, which does not prove that the slot has none. Throws as
 * `SolanaNode.bytes` does.
 */
export const getBlockBytes = <Long extends StreamedAnswer>(
  node: SolanaNode,
  slot: bigint,
  commitment: BlockCommitment,
  read: ReadParts<Long>,
  signal?: AbortSignal,
) => node.bytes('getBlock', blockAccountsParams(node, slot, commitment), read, signal);

/** The slot of the first block that the node still stores. */
export const getFirstAvailableBlock = (node: SolanaNode) =>
  node.call('getFirstAvailableBlock', [], shape.slotOrHeight);

/** At most `limit` slots from `first` on with a finalized block. The list proves no absence: a node can omit slots. */
export const getBlocksWithLimit = (node: SolanaNode, first: bigint, limit: number) =>
  node.call('getBlocksWithLimit', [Number(first), limit, FINALIZED], shape.slotsAnswer);

export const getBlockHeight = (node: SolanaNode, commitment: Commitment) =>
  node.call('getBlockHeight', [{ commitment }], shape.slotOrHeight);

export const getEpochInfo = (node: SolanaNode, commitment: Commitment = 'confirmed') =>
  node.call('getEpochInfo', [{ commitment }], shape.epochInfoAnswer);

export const getMinimumBalanceForRentExemption = (node: SolanaNode, size: number) =>
  node.call('getMinimumBalanceForRentExemption', [size], shape.u64);

export const MAX_ACCOUNTS_PER_CALL = 100;

/**
 * At most {@link MAX_ACCOUNTS_PER_CALL} accounts, {@link MAX_ACCOUNT_BYTES} of each; null for an account that does not
 * exist.
 */
export const getMultipleAccounts = (
  node: SolanaNode,
  addresses: readonly string[],
  commitment: Commitment = 'finalized',
) =>
  node.call(
    'getMultipleAccounts',
    [addresses, { encoding: 'base64', dataSlice: { offset: 0, length: MAX_ACCOUNT_BYTES }, commitment }],
    shape.accountsAnswer(addresses.length),
  );

/** The addresses of a wallet's finalized token accounts under one token program. */
export const getTokenAccountsByOwner = (node: SolanaNode, wallet: string, programId: string) =>
  node.call(
    'getTokenAccountsByOwner',
    [wallet, { programId }, { encoding: 'base64', dataSlice: { offset: 0, length: 0 }, ...FINALIZED }],
    shape.tokenAccountsAnswer,
  );

/** Priority fees of recent blocks, for transactions that lock all of `accounts` (at most 128). */
export const getRecentPrioritizationFees = (node: SolanaNode, accounts: readonly string[]) =>
  node.call('getRecentPrioritizationFees', [accounts], shape.prioritizationFeesAnswer);

/**
 * Simulates a transaction (base64) on the newest confirmed bank without verifying its signatures. `accounts`: addresses
 * of the accounts to return as they are after the transaction.
 */
export const simulateTransaction = (
  node: SolanaNode,
  raw: string,
  minContextSlot: bigint,
  replaceRecentBlockhash: boolean,
  accounts: readonly string[] = [],
) =>
  node.call(
    'simulateTransaction',
    [
      raw,
      {
        encoding: 'base64',
        sigVerify: false,
        replaceRecentBlockhash: replaceRecentBlockhash,
        minContextSlot: Number(minContextSlot),
        ...(accounts.length === 0 ? {} : { accounts: { encoding: 'base64', addresses: accounts } }),
        ...CONFIRMED,
      },
    ],
    shape.simulationAnswer,
  );

/** Sends a transaction (base64) once: without preflight, and without retries by the node. */
export const sendTransaction = (node: SolanaNode, raw: string) =>
  node.call(
    'sendTransaction',
    [raw, { encoding: 'base64', skipPreflight: true, preflightCommitment: 'confirmed', maxRetries: 0 }],
    shape.textAnswer,
  );

/**
 * Statuses of at most 256 signatures. Without `searchTransactionHistory`, the node searches only its recent statuses.
 */
export const getSignatureStatuses = (
  node: SolanaNode,
  signatures: readonly string[],
  searchTransactionHistory: boolean,
) =>
  node.call(
    'getSignatureStatuses',
    [signatures, ...(searchTransactionHistory ? [{ searchTransactionHistory }] : [])],
    shape.statusesAnswer(signatures.length),
  );

/** At most `limit` finalized transactions that name an address, newest first, older than the signature `before`. */
export const getSignaturesForAddress = (
  node: SolanaNode,
  address: string,
  page: { readonly limit: number; readonly before?: string },
) => node.call('getSignaturesForAddress', [address, { ...FINALIZED, ...page }], shape.signaturesAnswer);

export const getTransaction = (
  node: SolanaNode,
  signature: string,
  commitment: BlockCommitment = 'finalized',
) => transactionAs(node, signature, { encoding: 'base64', commitment }, shape.transactionAnswer);

/** A finalized transaction with its balances, as getBlock returns it. */
export const getTransactionAccounts = (node: SolanaNode, signature: string) =>
  transactionAs(node, signature, { encoding: 'jsonParsed', ...FINALIZED }, shape.transactionAccountsAnswer);

export const getSignedTransaction = (
  node: SolanaNode,
  signature: string,
  commitment: BlockCommitment = 'finalized',
) => transactionAs(node, signature, { encoding: 'base64', commitment }, shape.signedTransactionAnswer);

export function transactionAs<T>(
  node: SolanaNode,
  signature: string,
  options: { readonly encoding: 'base64' | 'json' | 'jsonParsed'; readonly commitment: BlockCommitment },
  schema: z.ZodType<T>,
): Promise<T> {
  return node.call('getTransaction', [signature, { ...options, ...versionsOf(node) }], schema);
}

function versionsOf({ maxTransactionVersion }: SolanaNode) {
  return { maxSupportedTransactionVersion: maxTransactionVersion };
}

import { z } from 'zod';
import { isAddress } from '../../domain/address.ts';
import { isBlockTime } from '../../domain/deposit.ts';
import { readTransactionError } from '../tx/error.ts';
import { HASH_TEXT, isPlain } from './node-text.ts';

const U64_MAX = 2n ** 64n - 1n;

const U64_ISSUE = { code: 'custom', message: 'is not an unsigned 64-bit integer' } as const;

/** An unsigned 64-bit integer, as a JSON number or a decimal string. Parsed to bigint. */
export const u64 = z.unknown().transform((value, context): bigint => {
  const integer = u64Of(value);
  if (integer !== null) return integer;
  context.addIssue({ ...U64_ISSUE });
  return z.NEVER;
});

/** A list of {@link u64}. Parsed by one transform for speed, because a block has tens of thousands of such integers. */
export const u64List = z.array(z.unknown()).transform((values, context): bigint[] => {
  const integers: bigint[] = [];
  for (const [index, value] of values.entries()) {
    const integer = u64Of(value);
    if (integer === null) {
      context.addIssue({ ...U64_ISSUE, path: [index] });
      return z.NEVER;
    }
    integers.push(integer);
  }
  return integers;
});

function u64Of(value: unknown): bigint | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : null;
  const digits = typeof value === 'string' && /^[0-9]{1,20}$/.test(value);
  if (typeof value !== 'bigint' && !digits) return null;
  const integer = BigInt(value);
  return integer >= 0n && integer <= U64_MAX ? integer : null;
}

/** A slot, block height or epoch. Requests contain it as a JSON number, so it must be a safe integer. */
export const slotOrHeight = u64.refine(
  (value) => value <= Number.MAX_SAFE_INTEGER,
  'is not a slot, height or epoch',
);

/** A block's Unix time in seconds. An invalid time becomes null, so that the block stays readable. */
export const blockTime = u64.refine(isBlockTime).nullable().catch(null);

export const hash = z.string().regex(HASH_TEXT);

const plainText = z.string().refine(isPlain, 'is not text that the database can store');
const err = z
  .unknown()
  .transform(readTransactionError)
  .refine((error) => error === null || isPlain(error.text), 'is not a transaction error');
const context = z.object({ slot: slotOrHeight });

export function atSlot<T>(value: z.ZodType<T>) {
  return z.object({ context, value });
}

const base64Bytes = z
  .tuple([z.base64(), z.literal('base64')])
  .transform(([text]): Uint8Array => new Uint8Array(Buffer.from(text, 'base64')));
const account = z
  .object({ lamports: u64, owner: z.string(), data: base64Bytes, executable: z.boolean() })
  .nullable();

export interface AccountInfo {
  readonly lamports: bigint;
  readonly owner: string;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

export const accountsAnswer = (count: number) =>
  atSlot<(AccountInfo | null)[]>(z.array(account).length(count));

export const tokenAccountsAnswer = atSlot(
  z.array(z.object({ pubkey: z.string().refine(isAddress, 'is not a base58 address of 32 bytes') })),
);

export const blockhashAnswer = atSlot(z.object({ blockhash: hash, lastValidBlockHeight: slotOrHeight }));
export const blockhashValidAnswer = atSlot(z.boolean());

const feeCalculator = z.object({ lamportsPerSignature: u64 });

/** getFees, removed in Agave 2.0. Its `lastValidSlot` is a slot, not a block height, so it is not read. */
export const feesAnswer = atSlot(
  z.object({ blockhash: hash, lastValidBlockHeight: slotOrHeight, feeCalculator }),
);

/** getFeeCalculatorForBlockhash, removed in Agave 2.0. Null if the bank does not accept the blockhash. */
export const feeCalculatorAnswer = atSlot(z.object({ feeCalculator }).nullable());

/** getBlock with transactionDetails `none` or `signatures`. Null does not prove that the slot has no block. */
export const blockAnswer = z
  .object({
    blockhash: hash,
    previousBlockhash: hash,
    parentSlot: slotOrHeight,
    blockHeight: slotOrHeight.nullable(),
    blockTime,
    signatures: z.array(z.string()).optional(),
  })
  .nullable();

const transactionAccounts = z
  .object({
    transaction: z.object({
      signatures: z.tuple([z.string()], z.string()),
      accountKeys: z.array(z.object({ pubkey: z.string(), signer: z.boolean() })),
    }),
  })
  .transform(({ transaction: { signatures, accountKeys } }) => ({
    signature: signatures[0],
    signers: accountKeys.flatMap(({ pubkey, signer }) => (signer ? [pubkey] : [])),
  }));

/** getBlock with transactionDetails `accounts`. Null does not prove that the slot has no block. */
export const blockAccountsAnswer = z
  .object({ blockhash: hash, transactions: z.array(transactionAccounts) })
  .nullable();

const commitment = z.enum(['processed', 'confirmed', 'finalized']);

const signatureStatus = z.object({
  slot: slotOrHeight,
  confirmations: u64.nullable().optional(),
  err,
  confirmationStatus: commitment.nullable().optional(),
});

export type SignatureStatus = z.infer<typeof signatureStatus>;

export const statusesAnswer = (count: number) => atSlot(z.array(signatureStatus.nullable()).length(count));

/** Lamports of the fee payer, which is the first account; null if unreadable. */
const payerBalance = z
  .tuple([u64], z.unknown())
  .transform(([balance]) => balance)
  .nullable()
  .catch(null);

const tokenBalances = z
  .array(
    z
      .object({ accountIndex: z.number().int().min(0).max(255), uiTokenAmount: z.object({ amount: u64 }) })
      .transform(({ accountIndex, uiTokenAmount: { amount } }) => ({ accountIndex, amount })),
  )
  .nullable()
  .catch(null);

/** A transaction's outcome. An unreadable balance becomes null, so that the node still confirms the outcome. */
const outcomeMeta = z.object({
  err,
  fee: u64,
  preBalances: payerBalance,
  postBalances: payerBalance,
  preTokenBalances: tokenBalances,
  postTokenBalances: tokenBalances,
});

export type OutcomeMeta = z.infer<typeof outcomeMeta>;

/** getTransaction, of which only the outcome is read. `meta: null` does not prove an outcome. */
export const transactionAnswer = z.object({ slot: slotOrHeight, meta: outcomeMeta.nullable() }).nullable();

const anyTransaction = z.object({
  transaction: z.object({ signatures: z.tuple([z.string()], z.string()) }),
  meta: z.unknown(),
});

/** getBlock with transactionDetails `accounts`: the readable outcomes of the requested signatures. */
export const blockOutcomesAnswer = (requested: ReadonlySet<string>) =>
  z
    .object({ transactions: z.array(anyTransaction) })
    .transform(({ transactions }) => {
      const outcomes = new Map<string, OutcomeMeta>();
      for (const { transaction, meta } of transactions) {
        const [signature] = transaction.signatures;
        const { data } = requested.has(signature) ? outcomeMeta.safeParse(meta) : { data: undefined };
        if (data !== undefined) outcomes.set(signature, data);
      }
      return outcomes;
    })
    .nullable();

/** Slot and time of a getTransaction answer; `scan/transaction.ts` reads the rest. */
export const transactionAccountsAnswer = z.looseObject({ slot: slotOrHeight, blockTime }).nullable();

const addresses = z.array(z.string());

const tokenOwners = z.array(z.object({ owner: z.string().optional() })).nullish();

/**
 * The signed bytes of a transaction, with the error, lookup table accounts and token owners of its `meta`, which can be
 * null.
 */
export const signedTransactionAnswer = z
  .object({
    slot: slotOrHeight,
    transaction: base64Bytes,
    meta: z
      .object({
        err,
        loadedAddresses: z.object({ writable: addresses, readonly: addresses }).nullish(),
        preTokenBalances: tokenOwners,
        postTokenBalances: tokenOwners,
      })
      .nullable(),
  })
  .nullable();

export const signaturesAnswer = z.array(z.object({ signature: plainText, slot: slotOrHeight }));

export const simulationAnswer = atSlot(
  z.object({
    err,
    logs: z.array(z.string()).nullish(),
    unitsConsumed: u64.nullish(),
    accounts: z.array(account).nullish(),
  }),
);

export const prioritizationFeesAnswer = z.array(z.object({ slot: slotOrHeight, prioritizationFee: u64 }));
export const feeForMessageAnswer = atSlot(u64.nullable());
export const epochInfoAnswer = z.object({
  epoch: slotOrHeight,
  absoluteSlot: slotOrHeight,
  blockHeight: slotOrHeight,
});
export const slotsAnswer = z.array(slotOrHeight);
export const textAnswer = plainText;
export const identityAnswer = z.object({ identity: plainText }).transform(({ identity }) => identity);
export const versionAnswer = z
  .object({ 'solana-core': plainText })
  .transform((answer) => answer['solana-core']);

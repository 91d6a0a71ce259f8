import { z } from 'zod';
import { isAddress } from '../../domain/address.ts';
import { isBlockTime } from '../../domain/deposit.ts';
import { readTransactionError } from '../tx/error.ts';
import { HASH_TEXT, isPlain } from './node-text.ts';

const U64_MAX = 2n ** 64n - 1n;

const U64_ISSUE = { code: 'custom', message: 'is no unsigned integer of 64 bits' } as const;

/** An unsigned 64-bit integer, sent as a number, a long integer or a decimal string. Becomes bigint. */
export const u64 = z.unknown().transform((value, context): bigint => {
  const integer = u64Of(value);
  if (integer !== null) return integer;
  context.addIssue({ ...U64_ISSUE });
  return z.NEVER;
});

/** A list of {@link u64}, parsed in one step: a block has tens of thousands of them. */
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

/** A slot, block height or epoch. A value beyond a JSON number could be neither requested nor stored. */
export const slotOrHeight = u64.refine((value) => value <= Number.MAX_SAFE_INTEGER, 'is no slot');

/** A block's Unix time, as text on some nodes. Becomes null if invalid: it must not make a block unreadable. */
export const blockTime = u64.refine(isBlockTime).nullable().catch(null);

export const hash = z.string().regex(HASH_TEXT);

const plainText = z.string().refine(isPlain, 'is no text that can be kept');
const err = z
  .unknown()
  .transform(readTransactionError)
  .refine((error) => error === null || isPlain(error.text), 'is no error of the chain');
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

/** getTokenAccountsByOwner; only the addresses are read. */
export const tokenAccountsAnswer = atSlot(
  z.array(z.object({ pubkey: z.string().refine(isAddress, 'is not base58 of 32 bytes') })),
);

export const blockhashAnswer = atSlot(z.object({ blockhash: hash, lastValidBlockHeight: slotOrHeight }));
export const blockhashValidAnswer = atSlot(z.boolean());

const feeCalculator = z.object({ lamportsPerSignature: u64 });

/** getFees, removed in Agave 2.0. Its `lastValidSlot` is in slots, not heights, so it is never read. */
export const feesAnswer = atSlot(
  z.object({ blockhash: hash, lastValidBlockHeight: slotOrHeight, feeCalculator }),
);

/** getFeeCalculatorForBlockhash, removed in Agave 2.0. Null = the bank does not accept the blockhash. */
export const feeCalculatorAnswer = atSlot(z.object({ feeCalculator }).nullable());

/** getBlock with transactionDetails `none` or `signatures`. Null proves nothing. */
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

/** getBlock with transactionDetails `accounts`. Null proves nothing. */
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

/** The balance of the fee payer, which is the first account; null if unreadable. */
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

/** A transaction's outcome. An unreadable balance becomes null: it must not cost a second node's confirmation. */
const outcomeMeta = z.object({
  err,
  fee: u64,
  preBalances: payerBalance,
  postBalances: payerBalance,
  preTokenBalances: tokenBalances,
  postTokenBalances: tokenBalances,
});

export type OutcomeMeta = z.infer<typeof outcomeMeta>;

/** The outcome in a getTransaction answer; `meta: null` proves nothing. */
export const transactionAnswer = z.object({ slot: slotOrHeight, meta: outcomeMeta.nullable() }).nullable();

const anyTransaction = z.object({
  transaction: z.object({ signatures: z.tuple([z.string()], z.string()) }),
  meta: z.unknown(),
});

/** getBlock with transactionDetails `accounts`: the readable outcomes of these signatures. Null proves nothing. */
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

/** The slot and time of a transaction; `scan/transaction.ts` reads the rest. Null proves nothing. */
export const transactionAccountsAnswer = z.looseObject({ slot: slotOrHeight, blockTime }).nullable();

const addresses = z.array(z.string());

const tokenOwners = z.array(z.object({ owner: z.string().optional() })).nullish();

/** A finalized transaction's signed bytes, and the accounts that its meta adds. `meta: null` hides those. */
export const signedTransactionAnswer = z
  .object({
    slot: slotOrHeight,
    transaction: base64Bytes,
    meta: z
      .object({
        loadedAddresses: z.object({ writable: addresses, readonly: addresses }).nullish(),
        preTokenBalances: tokenOwners,
        postTokenBalances: tokenOwners,
      })
      .nullable(),
  })
  .nullable();

export const signaturesAnswer = z.array(z.object({ signature: plainText, slot: slotOrHeight }));

export const simulationAnswer = atSlot(
  z.object({ err, logs: z.array(z.string()).nullish(), unitsConsumed: u64.nullish() }),
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

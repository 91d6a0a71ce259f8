import { z } from 'zod';
import type { ScannedTransaction, TokenChange, TokenHolding } from '../../domain/deposit.ts';
import { NodeFault, RpcError, UNSUPPORTED_VERSION } from '../rpc/errors.ts';
import { isPlain } from '../rpc/node-text.ts';
import { u64, u64List } from '../rpc/schemas.ts';
import { readTransactionError } from '../tx/error.ts';
import { address, type TransactionBody, transactionBody } from './bytes/encodings.ts';

export interface ReadOptions {
  readonly node?: string;
  /** The highest accepted transaction version. Default 1. */
  readonly maxTransactionVersion?: number;
}

const MAX_TRANSACTION_VERSION = 1;

const tokenBalance = z.object({
  accountIndex: z.number().int().nonnegative(),
  mint: address,
  owner: address.nullish(),
  programId: address.nullish(),
  uiTokenAmount: z.object({ amount: u64, decimals: z.number().int().nullish() }),
});

const addresses = z.array(address);
const lamports = u64List.nullish();
const tokenBalances = z.array(tokenBalance).nullish();

const metaFields = z.object({
  err: z.unknown().refine((err) => err !== undefined, 'is absent: the result of the transaction is unknown'),
  status: z.record(z.string(), z.unknown()).nullish(),
  fee: u64,
  preBalances: lamports,
  postBalances: lamports,
  preTokenBalances: tokenBalances,
  postTokenBalances: tokenBalances,
  loadedAddresses: z.object({ writable: addresses, readonly: addresses }).nullish(),
});

type Meta = z.infer<typeof metaFields>;
type MetaTokenBalance = z.infer<typeof tokenBalance>;
type ExecutionResult = 'succeeded' | 'failed';
type FaultFor = (reason: string) => NodeFault;

const transactionEntry = z.object({
  transaction: transactionBody,
  meta: metaFields.nullish(),
  version: z.union([z.literal('legacy'), z.number().int().nonnegative()]).optional(),
});

/**
 * A transaction of a block or of a getTransaction answer, in any encoding. Throws NodeFault with the signature if a
 * part that can contain a deposit is absent or inconsistent. Examples: meta is null, the number of balances is not the
 * number of accounts, or `err` is null although the status is not `{"Ok": null}`. Throws RpcError -32015 if the version
 * is above `maxTransactionVersion`.
 */
export function readTransaction(value: unknown, options: ReadOptions = {}): ScannedTransaction {
  const { node = 'the node', maxTransactionVersion = MAX_TRANSACTION_VERSION } = options;
  refuseNewer(value, node, maxTransactionVersion);
  const parsed = transactionEntry.safeParse(value);
  if (!parsed.success) throw faultOf(node, parsed.error, value);
  const { transaction: body, meta: details, version = body.version ?? 'legacy' } = parsed.data;
  const [signature] = body.signatures;
  const faultFor: FaultFor = (reason) => new NodeFault(node, `returns transaction ${signature} ${reason}`);
  if (details === null || details === undefined) throw faultFor('without meta');
  const error = readTransactionError(details.err)?.text ?? null;
  if (error === null && !isOk(details.status)) throw faultFor('with err null, although its status is not Ok');
  if (error !== null && !isPlain(error))
    throw faultFor('with an error that is not a Solana transaction error');
  const outcome = error === null ? 'succeeded' : 'failed';
  const accounts = balancesOf(body, details, outcome, faultFor);
  const changes = tokenChangesOf(details, accounts, outcome, faultFor);
  return { signature, version, error, feeLamports: details.fee, accounts, tokens: changes };
}

/** Old nodes return no status. */
function isOk(status: Meta['status']): boolean {
  if (status === undefined) return true;
  return status !== null && Object.keys(status).length === 1 && status['Ok'] === null;
}

function balancesOf(
  body: TransactionBody,
  { preBalances, postBalances, loadedAddresses }: Meta,
  outcome: ExecutionResult,
  faultFor: FaultFor,
): ScannedTransaction['accounts'] {
  const { writable, readonly } = loadedAddresses ?? { writable: [], readonly: [] };
  const loaded = body.includesLoaded ? [] : [...writable, ...readonly];
  const accounts = [...body.accounts, ...loaded.map((key) => ({ address: key, signer: false }))];
  if (outcome === 'succeeded' && new Set(accounts.map((account) => account.address)).size < accounts.length)
    throw faultFor('with an account that occurs twice');
  const [before, after] = [preBalances ?? [], postBalances ?? []];
  if (before.length === accounts.length && after.length === accounts.length)
    return accounts.map((account, index) => ({
      ...account,
      before: before[index] ?? 0n,
      after: after[index] ?? 0n,
    }));
  // A failed transaction that was included but not executed can lack balances (SIMD-0290). It cannot contain a deposit.
  if (outcome === 'succeeded')
    throw faultFor(
      `with ${before.length} balances before it and ${after.length} after it, for ${accounts.length} accounts`,
    );
  return accounts.map((account) => ({ ...account, before: 0n, after: 0n }));
}

/**
 * The token balance changes by account and mint: an account that was closed and created again for a different mint has
 * two. A failed transaction cannot contain a deposit, so that faults in its lists are ignored.
 */
function tokenChangesOf(
  { preTokenBalances, postTokenBalances }: Meta,
  accounts: ScannedTransaction['accounts'],
  outcome: ExecutionResult,
  faultFor: FaultFor,
): readonly TokenChange[] {
  const failed = outcome === 'failed';
  if (!failed && !(preTokenBalances && postTokenBalances)) throw faultFor('without token balances');
  const changes = new Map<string, TokenChange>();
  const put = (entry: MetaTokenBalance, side: 'before' | 'after'): void => {
    const { accountIndex, mint, owner = null } = entry;
    const account = accounts[accountIndex]?.address;
    if (account === undefined && failed) return;
    if (account === undefined)
      throw faultFor(
        `with a token balance of account index ${accountIndex}, although it has only ${accounts.length} accounts`,
      );
    if (owner === null && !failed) throw faultFor(`without the owner of token account ${account}`);
    const key = `${accountIndex} ${mint}`;
    const change = changes.get(key) ?? { account, mint, before: null, after: null };
    if (change[side] !== null && !failed)
      throw faultFor(`with two token balances of account ${account} for mint ${mint} on the same side`);
    changes.set(key, { ...change, [side]: holdingOf(entry) });
  };
  for (const entry of preTokenBalances ?? []) put(entry, 'before');
  for (const entry of postTokenBalances ?? []) put(entry, 'after');
  return [...changes.values()];
}

function holdingOf({ owner, programId, uiTokenAmount }: MetaTokenBalance): TokenHolding {
  const { amount, decimals } = uiTokenAmount;
  return { owner: owner ?? null, program: programId ?? null, decimals: decimals ?? null, amount };
}

const versionField = z.object({ version: z.number() });

/**
 * Refuses a transaction version that is too new, before the fields are read: a newer version can have other fields.
 * Throws the error that a node returns for such a version.
 */
function refuseNewer(value: unknown, node: string, highest: number): void {
  const { data } = versionField.safeParse(value);
  if (data === undefined || data.version <= highest) return;
  const message = `the transaction has version ${data.version}, and the highest supported version is ${highest}`;
  throw new RpcError({ code: UNSUPPORTED_VERSION, message }, node, 'getBlock');
}

const signatureFields = z.object({
  transaction: z.object({ signatures: z.tuple([z.string()], z.string()) }),
});

function faultOf(node: string, error: z.ZodError, value: unknown): NodeFault {
  const { data } = signatureFields.safeParse(value);
  const [issue] = error.issues;
  const field = (issue?.path ?? []).map(String).join('.');
  const signature = data?.transaction.signatures[0] ?? '(no signature)';
  const reason = `returns transaction ${signature} with an unreadable ${field || 'shape'}: ${issue?.message ?? ''}`;
  return new NodeFault(node, reason, { field });
}

import { chunksOf } from '../../domain/chunks.ts';
import { finalizedProgress } from '../history/wallet-history.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getMultipleAccounts, MAX_ACCOUNTS_PER_CALL } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';
import { readNonceAccount } from './account.ts';

/** The database has no gap: a bank of any height counts. */
const NO_GAP = -1n;

export async function surveyNonces(
  pool: NodePool,
  addresses: readonly string[],
): Promise<readonly (readonly ReportedNonce[])[]> {
  if (addresses.length === 0) return [];
  const answers = answersIn(await pool.all((node) => surveyNode(node, addresses)));
  return addresses.map((_address, index) => answers.flatMap(({ answer }) => answer[index] ?? []));
}

/**
 * Each account's value by a quorum of finalized banks above the height `end`, in the order of `addresses`; null if too
 * few agree.
 */
export async function agreedNonces(
  pool: NodePool,
  addresses: readonly string[],
  gapEnd = NO_GAP,
): Promise<readonly (AgreedNonce | null)[]> {
  const survey = await surveyNonces(pool, addresses);
  return survey.map((shown) => agreedNonce(gapEnd, shown, pool.quorum));
}

async function surveyNode(node: SolanaNode, addresses: readonly string[]): Promise<readonly ReportedNonce[]> {
  // The progress comes first: every bank read after it is at least as far.
  const { slot: finalizedSlot, height } = await finalizedProgress(node);
  const reported: ReportedNonce[] = [];
  for (const keys of chunksOf(addresses, MAX_ACCOUNTS_PER_CALL)) {
    const { context, value } = await getMultipleAccounts(node, keys);
    if (context.slot < finalizedSlot)
      throw new NodeFault(
        node.name,
        "getMultipleAccounts: the answer is older than the node's finalized slot",
      );
    for (const account of value)
      reported.push({ nonce: readNonceAccount(account)?.nonce ?? null, slot: context.slot, height });
  }
  return reported;
}

/** One node's finalized value of a nonce account, and how far the node had finalized before that request. */
export interface ReportedNonce {
  /** Null if there is no nonce account. */
  readonly nonce: string | null;
  readonly slot: bigint;
  readonly height: bigint;
}

/** The value that a quorum agrees on; `slot` is the lowest slot among its answers. */
export interface AgreedNonce {
  readonly nonce: string | null;
  readonly slot: bigint;
}

/**
 * The account's value that a quorum agrees on, among nodes that have finalized more than `end`; null if there is
 * none. A bank from before the end of the database gap may have an older value than a lost attempt uses.
 */
export function agreedNonce(
  gapEnd: bigint,
  reported: readonly ReportedNonce[],
  quorum: number,
): AgreedNonce | null {
  const fresh = reported.filter(({ height }) => height > gapEnd);
  for (const { nonce } of fresh) {
    const slots = fresh.filter((other) => other.nonce === nonce).map(({ slot }) => slot);
    if (slots.length >= quorum)
      return { nonce, slot: slots.reduce((low, slot) => (slot < low ? slot : low)) };
  }
  return null;
}

/**
 * True if an attempt that was lost in a database restore may use this value. False if there is no account, or a live
 * attempt in the database uses the value: two attempts never share a nonce value.
 */
export function mayBeUsedByLostAttempt({ nonce }: AgreedNonce, liveNonce: string | null): boolean {
  return nonce !== null && nonce !== liveNonce;
}

/**
 * True if no transaction with `nonce` can run any more: a quorum of nodes past `end` has another value, or no
 * account. Their banks are later than any use of the nonce in the gap.
 */
export function isNonceUsedUp(
  nonce: string,
  gapEnd: bigint,
  reported: readonly ReportedNonce[],
  quorum: number,
): boolean {
  return reported.filter((one) => one.height > gapEnd && one.nonce !== nonce).length >= quorum;
}

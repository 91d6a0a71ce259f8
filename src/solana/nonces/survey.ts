import { chunksOf } from '../../domain/chunks.ts';
import { finalizedProgress } from '../history/wallet-history.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getMultipleAccounts, MAX_ACCOUNTS_PER_CALL } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';
import { readNonceAccount } from './account.ts';

/** Without a gap in the database, a bank of any height counts. */
const NO_GAP = -1n;

/** Each account's value on every node that answers, in the order of `addresses`. */
export async function surveyNonces(
  pool: NodePool,
  addresses: readonly string[],
): Promise<readonly (readonly ReportedNonce[])[]> {
  if (addresses.length === 0) return [];
  const answers = answersIn(await pool.all((node) => surveyNode(node, addresses)));
  return addresses.map((_address, index) => answers.flatMap(({ answer }) => answer[index] ?? []));
}

/**
 * Each account's value on which a quorum agrees, in the order of `addresses`; null if there is none. Only nodes whose
 * finalized height is above `gapEnd` count.
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
  // The progress is requested first, so that every account is read from a bank of at least that height.
  const { slot: finalizedSlot, height } = await finalizedProgress(node);
  const reported: ReportedNonce[] = [];
  for (const keys of chunksOf(addresses, MAX_ACCOUNTS_PER_CALL)) {
    const { context, value } = await getMultipleAccounts(node, keys);
    if (context.slot < finalizedSlot)
      throw new NodeFault(
        node.name,
        "getMultipleAccounts: the answer is from a slot before the node's finalized slot",
      );
    for (const account of value)
      reported.push({ nonce: readNonceAccount(account)?.nonce ?? null, slot: context.slot, height });
  }
  return reported;
}

/** One node's finalized value of a nonce account. `height`: the node's finalized height before that request. */
export interface ReportedNonce {
  /** Null if there is no nonce account. */
  readonly nonce: string | null;
  readonly slot: bigint;
  readonly height: bigint;
}

/** The value on which a quorum agrees. `slot`: the lowest slot among the quorum's answers. */
export interface AgreedNonce {
  readonly nonce: string | null;
  readonly slot: bigint;
}

/**
 * The account's value on which a quorum agrees; null if there is none. Only nodes whose finalized height is above
 * `gapEnd` count, because an older bank may have a value from before a lost attempt.
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
 * True if an attempt whose row a database restore has lost may use the value. False if there is no nonce account, or if
 * `liveNonce`, the nonce of a live attempt in the database, is the same: two attempts never use the same nonce.
 */
export function mayBeUsedByLostAttempt({ nonce }: AgreedNonce, liveNonce: string | null): boolean {
  return nonce !== null && nonce !== liveNonce;
}

/**
 * True if no transaction with `nonce` can land any longer: a quorum of nodes with a finalized height above `gapEnd` has
 * a different value or no account. Their banks include every use of the nonce in the gap of the database.
 */
export function isNonceUsedUp(
  nonce: string,
  gapEnd: bigint,
  reported: readonly ReportedNonce[],
  quorum: number,
): boolean {
  return reported.filter((one) => one.height > gapEnd && one.nonce !== nonce).length >= quorum;
}

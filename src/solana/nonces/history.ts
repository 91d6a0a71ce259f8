import pLimit from 'p-limit';
import { z } from 'zod';
import type { NonceAttemptFacts, NonceBypass, NonceUse } from '../../domain/attempt.ts';
import { DomainError } from '../../domain/errors.ts';
import { ascending } from '../../domain/units.ts';
import { type HistoryPage, historyPage, type WalletSignature } from '../history/pages.ts';
import { unionOf } from '../history/wallet-signatures.ts';
import { transactionAs } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn, versionsOf } from '../rpc/quorum.ts';
import { slotOrHeight, u64 } from '../rpc/schemas.ts';
import { isNonceAdvanceText } from './account.ts';

const MAX_CONCURRENT_TRANSACTIONS = 8;

/** The transaction that ended an attempt's nonce: its use or, if unknown, the oldest known advance after it. */
export interface NonceEnd {
  readonly use: NonceUse | null;
  readonly bypass: NonceBypass | null;
}

interface ReportedAdvance {
  readonly node: string;
  readonly slot: bigint;
  /** Whether the transaction used the attempt's nonce. */
  readonly carriedNonce: boolean;
}

/**
 * How far the history of a nonce account is read for one attempt. Anyone can name the account in many transactions.
 * So each investigation reads one page from each node, newest first, and starts again after the end of a node's list.
 */
export interface NonceWalk {
  /** The last entry that was read, by node name. */
  readonly places: Map<string, WalletSignature>;
  /** True if a list has been read to its end. */
  isComplete: boolean;
  /** The oldest known advance after the attempt's nonce on which a quorum agrees. */
  bypass: NonceBypass | null;
}

export function startNonceWalk(): NonceWalk {
  return { places: new Map(), isComplete: false, bypass: null };
}

/** `page`: null if the node no longer lists the entry at which the page starts. */
interface NodePage {
  readonly node: string;
  readonly page: HistoryPage | null;
}

/**
 * Reads the next page of each node's list. Throws NoHealthyNode if no node returns one, or if no list has ended yet.
 */
export async function findNonceEnd(
  pool: NodePool,
  attempt: NonceAttemptFacts,
  sequence: number,
  walk: NonceWalk,
  pageSize: number,
): Promise<NonceEnd> {
  const { nonceAccount, nonce, nonceSlot } = attempt;
  const pages = await nextPages(pool, attempt, walk, pageSize);
  const listings = pages.map(({ page }) => ({ entries: page?.entries ?? [] }));
  const entries = unionOf(listings).filter(({ slot }) => slot > nonceSlot);
  const uses: NonceUse[] = [];
  const bypasses: NonceBypass[] = [];
  await pLimit(MAX_CONCURRENT_TRANSACTIONS).map(entries, async ({ signature }) => {
    const advances = await askAdvance(pool, signature, attempt);
    const agreedUse = mostAgreed(advances.filter(({ carriedNonce }) => carriedNonce));
    if (agreedUse !== null) uses.push({ signature, nonceAccount, nonce, ...agreedUse, sequence });
    const agreedBypass = agreedUse === null ? mostAgreed(advances) : null;
    if (agreedBypass !== null) bypasses.push({ signature, nonceAccount, ...agreedBypass, sequence });
  });
  const isAgreed = ({ shownBy }: NonceUse | NonceBypass) => shownBy.length >= pool.quorum;
  const use = uses.find(isAgreed);
  // A use is not stored in `walk`, so that the next investigation proves it again.
  if (use !== undefined) return { use, bypass: null };
  for (const found of bypasses.filter(isAgreed))
    if (walk.bypass === null || found.slot < walk.bypass.slot) walk.bypass = found;
  advanceWalk(walk, pages, nonceSlot);
  if (!walk.isComplete) throw unfinishedError(nonceAccount, walk);
  if (walk.bypass !== null) return { use: null, bypass: { ...walk.bypass, sequence } };
  return { use: uses[0] ?? null, bypass: uses.length === 0 ? (bypasses[0] ?? null) : null };
}

async function nextPages(
  pool: NodePool,
  { nonceAccount }: NonceAttemptFacts,
  { places }: NonceWalk,
  pageSize: number,
): Promise<readonly NodePage[]> {
  const answers = await pool.most((node) =>
    historyPage(node, nonceAccount, places.get(node.name) ?? null, pageSize),
  );
  const pages = answersIn(answers).map(({ node, answer }) => ({ node, page: answer }));
  if (pages.length > 0) return pages;
  const silent = answers.find(({ result }) => result.status === 'rejected')?.result;
  const cause = silent?.status === 'rejected' ? silent.reason : undefined;
  throw new DomainError(
    'NoHealthyNode',
    `no RPC node returned the transaction history of nonce account ${nonceAccount}`,
    {},
    cause,
  );
}

function advanceWalk(walk: NonceWalk, pages: readonly NodePage[], floor: bigint): void {
  for (const { node, page } of pages) {
    const last = page?.entries.at(-1);
    const isEnd = last === undefined || last.slot <= floor || page?.isEnd === true;
    if (isEnd) walk.places.delete(node);
    else walk.places.set(node, last);
    walk.isComplete ||= isEnd && page !== null;
  }
}

function unfinishedError(nonceAccount: string, { places }: NonceWalk): DomainError {
  const [slot] = [...places.values()].map((place) => place.slot).toSorted(ascending);
  return new DomainError(
    'NoHealthyNode',
    `the transaction history of nonce account ${nonceAccount} is read only down to slot ${slot ?? 'none'}; the next investigation continues there`,
  );
}

/** The slot that most nodes return for a transaction, with the names of these nodes. */
function mostAgreed(
  advances: readonly ReportedAdvance[],
): { readonly slot: bigint; readonly shownBy: readonly string[] } | null {
  const [most] = versionsOf(
    advances.map(({ node, slot }) => ({ node, answer: slot })),
    Object.is,
  );
  return most === undefined ? null : { slot: most.answer, shownBy: most.nodes };
}

// Requested with the encoding `json`, which has the blockhash and instructions of every transaction version.
const transactionWithInstructions = z
  .object({
    slot: slotOrHeight,
    meta: z.object({ fee: u64, err: z.unknown() }).nullable(),
    transaction: z.object({
      message: z.object({
        accountKeys: z.array(z.string()),
        recentBlockhash: z.string(),
        instructions: z.array(
          z.object({ programIdIndex: z.number(), accounts: z.array(z.number()), data: z.string() }),
        ),
      }),
    }),
  })
  .nullable();

async function askAdvance(
  pool: NodePool,
  signature: string,
  attempt: NonceAttemptFacts,
): Promise<readonly ReportedAdvance[]> {
  const options = { encoding: 'json', commitment: 'finalized' } as const;
  const answers = await pool.all((node) =>
    transactionAs(node, signature, options, transactionWithInstructions),
  );
  return answersIn(answers).flatMap(({ node, answer }) => {
    const advance = readAdvance(answer, attempt);
    return advance === null ? [] : [{ node, ...advance }];
  });
}

/**
 * How the transaction advanced the nonce account; null if it did not. The first instruction advances the nonce even if
 * a later one fails. A transaction that a block includes without executing it pays no fee and advances nothing.
 */
function readAdvance(
  answer: z.output<typeof transactionWithInstructions>,
  { nonceAccount, nonce }: NonceAttemptFacts,
): Omit<ReportedAdvance, 'node'> | null {
  if (answer === null || answer.meta === null || answer.meta.fee === 0n) return null;
  const { slot } = answer;
  const { accountKeys, recentBlockhash, instructions } = answer.transaction.message;
  const advances = instructions.map(({ programIdIndex, accounts: [account = -1], data }) => {
    const program = accountKeys[programIdIndex] ?? '';
    return accountKeys[account] === nonceAccount && isNonceAdvanceText(program, data);
  });
  if (advances[0] === true && recentBlockhash === nonce) return { slot, carriedNonce: true };
  const advanced = (answer.meta.err ?? null) === null && advances.includes(true);
  return advanced ? { slot, carriedNonce: false } : null;
}

import { base58 } from '@scure/base';
import { z } from 'zod';
import type { NonceAttemptFacts, NonceBypass, NonceUse } from '../domain/attempt.ts';
import { isNonceAdvance } from './nonces.ts';
import type { NodePool } from './rpc/pool.ts';
import { u64 } from './rpc/schemas.ts';
import { listingsAbove, unionOf } from './wallet-history.ts';

/** What ended the nonce of an attempt, by the history of its account: its use, else the oldest advance past it; null where unknown. */
export interface NonceEnd {
  readonly use: NonceUse | null;
  readonly bypass: NonceBypass | null;
}

/** One node that shows a finalized transaction by which the account was advanced. */
interface ShownAdvance {
  readonly node: string;
  readonly slot: bigint;
  /** Whether the transaction carried the attempt's nonce to do so. */
  readonly carriedNonce: boolean;
}

/** Looks through what nodes list of the nonce account, the oldest first. Throws as {@link listingsAbove}. */
export async function findNonceEnd(
  pool: NodePool,
  attempt: NonceAttemptFacts,
  sequence: number,
): Promise<NonceEnd> {
  const { nonceAccount, nonce, nonceSlot } = attempt;
  const bypasses: NonceBypass[] = [];
  const listings = await listingsAbove(pool, nonceAccount, nonceSlot, () => false);
  for (const { signature } of unionOf(listings)) {
    const shown = await askAdvance(pool, signature, attempt);
    const used = mostAgreed(shown.filter(({ carriedNonce }) => carriedNonce));
    if (used !== null) return { use: { signature, nonceAccount, nonce, ...used, sequence }, bypass: null };
    const passed = mostAgreed(shown);
    if (passed !== null) bypasses.push({ signature, nonceAccount, ...passed, sequence });
  }
  const agreed = bypasses.find(({ shownBy }) => shownBy.length >= pool.quorum);
  return { use: null, bypass: agreed ?? bypasses[0] ?? null };
}

/** The slot that most of those who show a transaction give it. */
function mostAgreed(
  shown: readonly ShownAdvance[],
): { readonly slot: bigint; readonly shownBy: readonly string[] } | null {
  const slots = [...new Set(shown.map(({ slot }) => slot))].map((slot) => ({
    slot,
    shownBy: shown.flatMap((one) => (one.slot === slot ? [one.node] : [])),
  }));
  return slots.toSorted((a, b) => b.shownBy.length - a.shownBy.length)[0] ?? null;
}

// `json` shows the lifetime of every transaction version; no bytes need to be understood.
const ranTransaction = z
  .object({
    slot: u64,
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

/** The nodes that show that this transaction advanced the account. */
async function askAdvance(
  pool: NodePool,
  signature: string,
  attempt: NonceAttemptFacts,
): Promise<readonly ShownAdvance[]> {
  const answers = await pool.all((node) => {
    const maxSupportedTransactionVersion = node.maxTransactionVersion;
    const options = { encoding: 'json', commitment: 'finalized', maxSupportedTransactionVersion };
    return node.call('getTransaction', [signature, options], ranTransaction);
  });
  return answers.flatMap(({ node, result }) => {
    const shown = result.status === 'fulfilled' ? readAdvance(result.value, attempt) : null;
    return shown === null ? [] : [{ node, ...shown }];
  });
}

/**
 * Whether the transaction carried the attempt's nonce and used it up, as its first instruction does even where the others fail; null
 * where it advanced nothing. One that a block only includes, and that never ran, pays nothing and uses nothing up.
 */
function readAdvance(
  answer: z.output<typeof ranTransaction>,
  { nonceAccount, nonce }: NonceAttemptFacts,
): Omit<ShownAdvance, 'node'> | null {
  if (answer === null || answer.meta === null || answer.meta.fee === 0n) return null;
  const { slot } = answer;
  const { accountKeys, recentBlockhash, instructions } = answer.transaction.message;
  const advances = instructions.map(({ programIdIndex, accounts: [account = -1], data }) => {
    const program = accountKeys[programIdIndex] ?? '';
    return accountKeys[account] === nonceAccount && isNonceAdvance(program, base58.decode(data));
  });
  if (advances[0] === true && recentBlockhash === nonce) return { slot, carriedNonce: true };
  const advanced = (answer.meta.err ?? null) === null && advances.includes(true);
  return advanced ? { slot, carriedNonce: false } : null;
}

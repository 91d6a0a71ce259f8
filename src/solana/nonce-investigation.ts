import { base58 } from '@scure/base';
import pLimit from 'p-limit';
import { z } from 'zod';
import type {
  NodeTestimony,
  NonceAttemptFacts,
  NonceEvidence,
  NonceUse,
  Sighting,
} from '../domain/attempt.ts';
import type { Chain } from './chain.ts';
import { chunksOf } from './chunks.ts';
import { askStatuses, confirmOutcome } from './investigation.ts';
import { isNonceAdvance, readNonceAccount } from './nonces.ts';
import { ACCOUNTS_PER_CALL, getMultipleAccounts } from './rpc/methods.ts';
import type { NodePool } from './rpc/pool.ts';
import { u64 } from './rpc/schemas.ts';
import { listingsAbove, unionOf } from './wallet-history.ts';

/** An attempt with a durable nonce that has a signature. Nothing carries its nonce in `nonceSlot` or before. */
export type SignedNonceAttempt = NonceAttemptFacts & {
  readonly signature: string;
  readonly nonceSlot: bigint;
};

/** The evidence for a verdict; see {@link Investigation} of attempts with a blockhash. */
export interface NonceInvestigation {
  readonly evidence: NonceEvidence;
  readonly feeLamports: bigint | null;
  readonly obstacle: string | null;
}

/** What each node's finalized bank holds, by nonce account. */
export type FinalizedNonces = ReadonlyMap<string, readonly NodeTestimony<string>[]>;

const AT_ONCE = 8;

/** Asks every node for the finalized nonces: the first question of every proof. A node that shows no nonce is left out. */
export async function askNonces(pool: NodePool, accounts: readonly string[]): Promise<FinalizedNonces> {
  const found = new Map<string, NodeTestimony<string>[]>();
  for (const keys of chunksOf([...new Set(accounts)], ACCOUNTS_PER_CALL)) {
    const answers = await pool.all((node) => getMultipleAccounts(node, keys));
    for (const [at, { node, result }] of answers.entries()) {
      if (result.status === 'rejected' || result.value.value.length !== keys.length) continue;
      for (const [index, key] of keys.entries()) {
        const state = readNonceAccount(result.value.value[index] ?? null);
        const said = found.get(key) ?? [];
        if (state !== null) said.push({ node, sequence: 1 + at, answer: state.nonce });
        found.set(key, said);
      }
    }
  }
  return found;
}

/** True where any node's finalized nonce is another one: a reason to look closer, never a proof. */
export function isUsedUp({ nonceAccount, nonce }: NonceAttemptFacts, nonces: FinalizedNonces): boolean {
  return (nonces.get(nonceAccount) ?? []).some(({ answer }) => answer !== nonce);
}

/** Everything a verdict needs, asked in the order that a proof of death demands: after `nonces` who used them up, then the statuses. */
export async function investigateNonces(
  chain: Chain,
  attempts: readonly SignedNonceAttempt[],
  nonces: FinalizedNonces,
): Promise<readonly NonceInvestigation[]> {
  const sequence = chain.pool.nodes.length + 1;
  const uses = await pLimit(AT_ONCE).map(attempts, (attempt) => findUse(chain.pool, attempt, sequence));
  const signatures = attempts.map(({ signature }) => signature);
  const statuses = await askStatuses(chain, signatures, sequence + 1);
  return pLimit(AT_ONCE).map(attempts, async (attempt, index) => {
    const said = statuses[index] ?? [];
    const { use, obstacle } = uses[index] ?? { use: null, obstacle: null };
    const isIncluded = use?.signature === attempt.signature;
    const { feeLamports, ...found } = await confirmOutcome(chain, attempt.signature, said, isIncluded);
    const finalizedNonces = nonces.get(attempt.nonceAccount) ?? [];
    const faults = [...(obstacle === null ? [] : [obstacle]), ...unreadable(said)];
    return {
      evidence: { ...found, finalizedNonces, use },
      feeLamports,
      obstacle: faults.length === 0 ? null : faults.join('; '),
    };
  });
}

function unreadable(statuses: readonly NodeTestimony<Sighting>[]): string[] {
  return statuses.flatMap(({ node, answer }) =>
    answer.kind === 'unreadable' ? [`no status from ${node}: ${answer.why}`] : [],
  );
}

/** The transaction that ran with the attempt's nonce, by the history of its account, the oldest first. */
async function findUse(
  pool: NodePool,
  attempt: SignedNonceAttempt,
  sequence: number,
): Promise<{ readonly use: NonceUse | null; readonly obstacle: string | null }> {
  const { nonceAccount, nonce, nonceSlot } = attempt;
  let past: string | null = null;
  try {
    const listings = await listingsAbove(pool, nonceAccount, nonceSlot, () => false);
    for (const { signature, slot } of unionOf(listings)) {
      const shown = await witnesses(pool, signature, attempt);
      const shownBy = shown.filter(({ carriedNonce }) => carriedNonce).map(({ node }) => node);
      if (shownBy.length > 0)
        return { use: { signature, nonceAccount, nonce, slot, shownBy, sequence }, obstacle: null };
      if (shown.length > 0) past ??= signature;
    }
    return { use: null, obstacle: whyUnfound(nonceAccount, past) };
  } catch (error) {
    return { use: null, obstacle: error instanceof Error ? error.message : String(error) };
  }
}

// What advances an account without carrying its nonce does not say which nonce it found there: the attempt may have run before.
function whyUnfound(nonceAccount: string, past: string | null): string {
  return past === null
    ? `no node lists the transaction that used up ${nonceAccount}`
    : `${past} has advanced ${nonceAccount} past Sluice, with a blockhash: that does not show what used up the nonce before`;
}

// `json` shows the lifetime of every transaction version; no bytes need to be understood.
const ranTransaction = z
  .object({
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

/** The nodes that show that this transaction advanced the account, each with whether it carried the attempt's nonce to do so. */
async function witnesses(
  pool: NodePool,
  signature: string,
  attempt: NonceAttemptFacts,
): Promise<readonly { readonly node: string; readonly carriedNonce: boolean }[]> {
  const answers = await pool.all((node) => {
    const maxSupportedTransactionVersion = node.maxTransactionVersion;
    const options = { encoding: 'json', commitment: 'finalized', maxSupportedTransactionVersion };
    return node.call('getTransaction', [signature, options], ranTransaction);
  });
  return answers.flatMap(({ node, result }) => {
    const carriedNonce = result.status === 'fulfilled' ? advance(result.value, attempt) : null;
    return carriedNonce === null ? [] : [{ node, carriedNonce }];
  });
}

/**
 * Whether the transaction carried the attempt's nonce and used it up, as its first instruction does even where the others fail; null
 * where it advanced nothing. One that a block only includes, and that never ran, pays nothing and uses nothing up.
 */
function advance(
  answer: z.output<typeof ranTransaction>,
  { nonceAccount, nonce }: NonceAttemptFacts,
): boolean | null {
  if (answer === null || answer.meta === null || answer.meta.fee === 0n) return null;
  const { accountKeys, recentBlockhash, instructions } = answer.transaction.message;
  const advances = instructions.map(({ programIdIndex, accounts: [account = -1], data }) => {
    const program = accountKeys[programIdIndex] ?? '';
    return accountKeys[account] === nonceAccount && isNonceAdvance(program, base58.decode(data));
  });
  if (advances[0] === true && recentBlockhash === nonce) return true;
  return (answer.meta.err ?? null) === null && advances.includes(true) ? false : null;
}

import pLimit from 'p-limit';
import type {
  NodeAnswer,
  NonceAttemptFacts,
  NonceBypass,
  NonceEvidence,
  StatusObservation,
} from '../../domain/attempt.ts';
import { chunksOf } from '../../domain/chunks.ts';
import { messageOf } from '../../domain/errors.ts';
import type { Chain } from '../chain.ts';
import { readNonceAccount } from '../nonces/account.ts';
import { findNonceEnd, type NonceEnd, nonceWalk } from '../nonces/history.ts';
import { ACCOUNTS_PER_CALL, getMultipleAccounts } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { confirmAbsence, historyStarts } from './absence.ts';
import { confirmOutcome, distrustRefuted } from './confirm-outcome.ts';
import { askStatuses } from './investigate.ts';
import { type BlockCache, coverageBetween } from './linked-blocks.ts';
import type { Spending } from './spending.ts';

export type SignedNonceAttempt = NonceAttemptFacts & { readonly signature: string };

/** The evidence for a verdict; see {@link Investigation} of attempts with a blockhash. */
export interface NonceInvestigation {
  readonly evidence: NonceEvidence;
  readonly spending: Spending;
  readonly obstacle: string | null;
}

export type FinalizedNonces = ReadonlyMap<string, readonly NodeAnswer<string>[]>;

const AT_ONCE = 8;

/** The finalized nonces of every node that returns one: the first step of every proof. */
export async function askNonces(pool: NodePool, accounts: readonly string[]): Promise<FinalizedNonces> {
  const found = new Map<string, NodeAnswer<string>[]>();
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

/** True if any node's finalized nonce differs, or no node returns one: a reason to investigate, never a proof. */
export function isUsedUp({ nonceAccount, nonce }: NonceAttemptFacts, nonces: FinalizedNonces): boolean {
  const said = nonces.get(nonceAccount) ?? [];
  return said.length === 0 || said.some(({ answer }) => answer !== nonce);
}

/** Gathers the evidence in the order that a proof of death needs: after `nonces` their end, then the statuses. */
export async function investigateNonces(
  chain: Chain,
  attempts: readonly SignedNonceAttempt[],
  nonces: FinalizedNonces,
  cache: BlockCache,
): Promise<readonly NonceInvestigation[]> {
  const sequence = chain.pool.nodes.length + 1;
  const endings = await pLimit(AT_ONCE).map(attempts, (attempt) =>
    readEnding(chain.pool, attempt, sequence, cache),
  );
  const signatures = attempts.map(({ signature }) => signature);
  const statuses = await askStatuses(chain, signatures, sequence + 1);
  const isRead = ({ use, coverage }: NonceEndEvidence) => use !== null || coverage !== null;
  const starts = endings.some(isRead) ? await historyStarts(chain.pool) : new Map();
  return pLimit(AT_ONCE).map(attempts, async (attempt, index) => {
    const reading = endings[index] ?? NOT_READ;
    const { obstacle, ...ending } = reading;
    const told = statuses[index] ?? [];
    const isIncluded =
      ending.use?.signature === attempt.signature || ending.coverage?.containsSignature === true;
    const isLacking = isRead(reading) && !isIncluded;
    const said = isLacking ? await confirmAbsence(chain, attempt.signature, told, starts) : told;
    const { spending, ...found } = await confirmOutcome(chain, attempt.signature, said, isIncluded);
    const isUsed = (ending.use?.shownBy.length ?? 0) >= chain.pool.quorum || ending.coverage !== null;
    // A block may include the transaction without running it. So only a success contradicts the use of its nonce by
    // another one.
    if (isLacking && isUsed && found.outcomeConfirmedBy.length === 0)
      distrustRefuted(chain.pool, said.filter(isSuccess), attempt.signature, useReason(ending));
    const finalizedNonces = nonces.get(attempt.nonceAccount) ?? [];
    const faults = [...(obstacle === null ? [] : [obstacle]), ...unreadable(said)];
    return {
      evidence: { ...found, ...ending, finalizedNonces },
      spending,
      obstacle: faults.length === 0 ? null : faults.join('; '),
    };
  });
}

function useReason({ use }: Pick<NonceEndEvidence, 'use'>): string {
  return use === null
    ? "a quorum's blocks lack it"
    : `a quorum shows that ${use.signature} used up its nonce`;
}

function isSuccess({ answer }: NodeAnswer<StatusObservation>): boolean {
  return answer.kind === 'seen' && answer.error === null;
}

function unreadable(statuses: readonly NodeAnswer<StatusObservation>[]): string[] {
  return statuses.flatMap(({ node, answer }) =>
    answer.kind === 'unreadable' ? [`no status from ${node}: ${answer.reason}`] : [],
  );
}

type NonceEndEvidence = Pick<NonceEvidence, 'use' | 'bypass' | 'coverage'> & {
  readonly obstacle: string | null;
};

const NOT_READ: NonceEndEvidence = { use: null, bypass: null, coverage: null, obstacle: null };

/** How the nonce ended; after an advance without it, also the linked blocks in which the attempt may have run. */
async function readEnding(
  pool: NodePool,
  attempt: SignedNonceAttempt,
  sequence: number,
  cache: BlockCache,
): Promise<NonceEndEvidence> {
  const { signature, nonceAccount, nonceSlot } = attempt;
  let end: NonceEnd = { use: null, bypass: null };
  try {
    const walk = await cache.walks.get(`${nonceAccount}/${attempt.nonce}`, async () => nonceWalk());
    end = await findNonceEnd(pool, attempt, sequence, walk, cache.history.pageSize);
    const { use, bypass } = end;
    if (bypass === null || bypass.shownBy.length < pool.quorum)
      return { ...end, coverage: null, obstacle: use === null ? unknownReason(nonceAccount, bypass) : null };
    const coverage = await coverageBetween(pool, nonceSlot, bypass.slot, signature, cache);
    return { ...end, coverage: { ...coverage, sequence }, obstacle: null };
  } catch (error) {
    return { ...end, coverage: null, obstacle: messageOf(error) };
  }
}

function unknownReason(nonceAccount: string, bypass: NonceBypass | null): string {
  return bypass === null
    ? `no node lists the transaction that used up ${nonceAccount}`
    : `only ${bypass.shownBy.join(', ')} shows ${bypass.signature}, which advanced ${nonceAccount}`;
}

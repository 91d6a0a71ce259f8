import type { z } from 'zod';
import { messageOf } from '../../domain/errors.ts';
import type { AttemptRow } from '../../ledger/settlements/attempts.ts';
import type { Chain } from '../../solana/chain.ts';
import { attemptEvidence } from '../../solana/proof/attempt-evidence.ts';
import { type AnyAttempt, attemptOfRow, examineNow, type Finding } from '../../solana/proof/examine.ts';
import { type BlockCache, blockCache } from '../../solana/proof/linked-blocks.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import type { ExplainedBody } from './attempts.ts';
import { proofsOf } from './evidence-schemas.ts';
import { type MissingEvidence, missingEvidence, missingNonceEvidence } from './missing-evidence.ts';

type ExplainedAttempt = z.input<typeof ExplainedBody>;

/** Calls within this time share the node answers about an attempt, but each call reads its row again. */
const ANSWERS_TTL_MS = 1_000;

/**
 * Explains the live attempt with current node answers, or else the last attempt with its stored proof. Returns null if
 * there are no attempts.
 */
export type ExplainAttempt = (attempts: readonly AttemptRow[]) => Promise<ExplainedAttempt | null>;

export function attemptExplainer(openChain: () => Promise<Chain>): ExplainAttempt {
  const explanations = new TtlCache<ExplainedAttempt>(ANSWERS_TTL_MS);
  const blocks = blockCache();
  return async (attempts) => {
    const row = attempts.find(({ state }) => isLive(state)) ?? attempts.at(-1);
    if (row === undefined) return null;
    const { state } = row;
    if (isLive(state))
      return explanations.get(`${row.messageHash} ${state}`, () => explainLive(row, openChain, blocks));
    return { ...row, verdict: state, reason: row.error, missing: [], evidence: proofsOf(row).proof };
  };
}

function isLive(state: AttemptRow['state']): state is 'prepared' | 'signed' {
  return state === 'prepared' || state === 'signed';
}

async function explainLive(
  row: AttemptRow,
  openChain: () => Promise<Chain>,
  blocks: BlockCache,
): Promise<ExplainedAttempt> {
  const attempt = attemptOfRow(row, row.signature);
  try {
    const chain = await openChain();
    const finding = await examineNow(chain, attempt, blocks);
    const { verdict, evidence, times } = finding;
    const nodes = chain.pool.nodes.map(({ name }) => name);
    const missing =
      verdict.kind === 'unknown' || verdict.kind === 'alive' ? missingFrom(attempt, finding, nodes) : [];
    const answers = attemptEvidence(attempt, evidence, times);
    return { ...row, verdict: verdict.kind, reason: reasonOf(finding), missing, evidence: answers };
  } catch (error) {
    const reason = messageOf(error);
    return { ...row, verdict: 'unknown', reason, missing: [], evidence: null };
  }
}

function missingFrom(
  attempt: AnyAttempt,
  { evidence }: Finding,
  nodes: readonly string[],
): readonly MissingEvidence[] {
  if ('use' in evidence) return 'nonce' in attempt ? missingNonceEvidence(attempt, evidence, nodes) : [];
  return 'nonce' in attempt ? [] : missingEvidence(attempt, evidence, nodes);
}

function reasonOf({ verdict, obstacle }: Finding): string | null {
  if (verdict.kind === 'failed') return verdict.error;
  if (verdict.kind !== 'unknown') return null;
  return obstacle === null ? verdict.reason : `${verdict.reason}: ${obstacle}`;
}

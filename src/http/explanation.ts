import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { ExplainedAttempt, Explanation } from '../client/evidence.ts';
import { messageOf } from '../domain/errors.ts';
import { type Missing, missingOf, missingOfNonce } from '../domain/missing.ts';
import { nextStep, WAITS_FOR } from '../domain/outlook.ts';
import type { AttemptRow } from '../ledger/attempts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { readProof } from '../ledger/proofs.ts';
import { type BlockCache, blockCache } from '../solana/blocks.ts';
import type { Chain } from '../solana/chain.ts';
import {
  type AnyAttempt,
  attemptOfRow,
  examineNow,
  type Finding,
  isExpiring,
} from '../solana/examination.ts';
import { TtlCache } from '../solana/ttl-cache.ts';
import { presentEvidence } from './evidence.ts';
import { EvidenceBody } from './evidence-schemas.ts';
import { noChain } from './no-chain.ts';
import { ProblemBody, u64 } from './schemas.ts';
import { IdParams, Reason, Status } from './withdrawal-schemas.ts';

export interface ExplanationDeps {
  readonly ledger: Ledger;
  /** The nodes to ask; rejects while no quorum of them can be had. Without them, only what is on record is told. */
  readonly chain?: () => Promise<Chain>;
}

/** Askers within so long share one question to the nodes; what is on record is read anew for each. */
const SHARED_MS = 1_000;

const ExplanationBody = z
  .object({
    id: z.string().describe('Your id of the withdrawal'),
    status: Status.describe('How far it is'),
    reason: Reason,
    waitsFor: z.string().describe('What it waits for, for people'),
    nextStep: z.string().describe('What comes next, for people'),
    attempt: z
      .object({
        n: z.int().positive().describe('Which attempt: 1 for the first'),
        state: z
          .enum(['prepared', 'signed', 'landed', 'failed', 'dead'])
          .describe('`prepared` and `signed` may still land'),
        signature: z.string().nullable().describe('base58; null until it is signed'),
        blockhash: z.string().describe('Its blockhash, or the value of its durable nonce'),
        slot: u64.nullable().describe('Slot of its block; null while no block is on record'),
        verdict: z
          .enum(['landed', 'failed', 'alive', 'dead', 'unknown'])
          .describe('Only `dead` allows another attempt'),
        why: z.string().nullable().describe('Why it is `unknown`, or the error of one that `failed`'),
        missing: z
          .array(
            z.object({
              node: z.string().nullable().describe('Null where no single node can tell'),
              what: z.string().describe('For people'),
            }),
          )
          .readonly()
          .describe('What a verdict that ends it still lacks, and from which node'),
        evidence: EvidenceBody.nullable().describe(
          'What the nodes say, or said when it ended; null where none could be asked, or nothing readable is on record',
        ),
      })
      .nullable()
      .describe('The one that may still land, else the last one; null where none was made'),
  })
  .meta({ id: 'Explanation' }) satisfies z.ZodType<Explanation>;

/** `GET /v1/withdrawals/{id}/explain`: asks the nodes now about an attempt that may land; of one that has ended, the stored proof. Reads only. */
export function explanationRoutes({ ledger, chain = noChain }: ExplanationDeps): FastifyPluginAsyncZod {
  const examined = new TtlCache<ExplainedAttempt>(SHARED_MS);
  const blocks = blockCache();
  const examine = (row: LiveRow) =>
    examined.get(`${row.messageHash} ${row.state}`, () => explainAttempt(row, chain, blocks));
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/withdrawals/:id/explain',
      schema: {
        tags: ['withdrawals'],
        summary: 'Ask the nodes now what is known of a withdrawal, and what is missing',
        description: 'Reads only: nobody can force a signature without the proof that the last one is dead.',
        params: IdParams,
        response: { 200: ExplanationBody, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      handler: ({ params: { id } }) => explain(ledger, examine, id),
    });
  };
}

async function explain(
  ledger: Ledger,
  examine: (row: LiveRow) => Promise<ExplainedAttempt>,
  id: string,
): Promise<Explanation> {
  const row = await ledger.withdrawals.get(id);
  const attempts = await ledger.attempts.of(id);
  const live = attempts.find(isLive);
  const ended = attempts.findLast(isEnded);
  const attempt = live !== undefined ? await examine(live) : ended !== undefined ? explainEnded(ended) : null;
  const { status, reason } = row;
  // The signer is waited for, whatever nodes say of an attempt that it has not signed.
  const verdict = attempt?.state === 'signed' ? attempt.verdict : null;
  return { id, status, reason, waitsFor: WAITS_FOR[status], nextStep: nextStep(row, verdict), attempt };
}

type LiveRow = AttemptRow & { readonly state: 'prepared' | 'signed' };

type EndedRow = AttemptRow & { readonly state: Exclude<AttemptRow['state'], LiveRow['state']> };

function isLive(row: AttemptRow): row is LiveRow {
  return row.state === 'prepared' || row.state === 'signed';
}

function isEnded(row: AttemptRow): row is EndedRow {
  return !isLive(row);
}

/** The verdict on record, and the evidence that was stored with it. */
function explainEnded(row: EndedRow): ExplainedAttempt {
  const { state, error } = row;
  const proof = readProof(row.proof);
  const evidence = proof === null ? null : presentEvidence(attemptOfRow(row, row.signature), proof, proof);
  return { ...onRecord(row), state, verdict: state, why: error, missing: [], evidence };
}

function onRecord({ n, signature, blockhash, slot }: AttemptRow) {
  return { n, signature, blockhash, slot: slot?.toString() ?? null };
}

async function explainAttempt(
  row: LiveRow,
  chain: () => Promise<Chain>,
  blocks: BlockCache,
): Promise<ExplainedAttempt> {
  const told = { ...onRecord(row), state: row.state };
  const attempt = attemptOfRow(row, row.signature);
  try {
    const opened = await chain();
    const finding = await examineNow(opened, attempt, blocks);
    const { verdict, evidence, times } = finding;
    const nodes = opened.pool.nodes.map(({ name }) => name);
    const missing =
      verdict.kind === 'unknown' || verdict.kind === 'alive' ? lacks(attempt, finding, nodes) : [];
    const shown = presentEvidence(attempt, evidence, times);
    return { ...told, verdict: verdict.kind, why: whyOf(finding), missing, evidence: shown };
  } catch (error) {
    const why = messageOf(error);
    return { ...told, verdict: 'unknown', why, missing: [], evidence: null };
  }
}

function lacks(attempt: AnyAttempt, { evidence }: Finding, nodes: readonly string[]): readonly Missing[] {
  if ('use' in evidence) return isExpiring(attempt) ? [] : missingOfNonce(attempt, evidence, nodes);
  return isExpiring(attempt) ? missingOf(attempt, evidence, nodes) : [];
}

function whyOf({ verdict, obstacle }: Finding): string | null {
  if (verdict.kind === 'failed') return verdict.error;
  if (verdict.kind !== 'unknown') return null;
  return obstacle === null ? verdict.why : `${verdict.why}: ${obstacle}`;
}

import { base58, base64 } from '@scure/base';
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { DomainError } from '../domain/errors.ts';
import type { Landing } from '../domain/steps.ts';
import type { StatusReason } from '../domain/withdrawal.ts';
import type { AttemptRow } from '../ledger/attempts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { verifySignature } from '../signing/verify.ts';
import type { LandingOutcome, LandingWatcher } from '../solana/landing.ts';
import { decodeMessage } from '../solana/message.ts';
import { withheldBy } from '../solana/token-transfer.ts';
import { assembleTransaction } from '../solana/transactions.ts';
import { describeFailure } from './program-errors.ts';

export interface LandingDeps {
  readonly ledger: Ledger;
  readonly watcher: LandingWatcher;
}

const HEARTBEAT_EVERY_MS = 3_000;

/** Stores the signed bytes, then keeps them on the way until the chain has judged them, then records the judgement. */
export function createLanding({ ledger, watcher }: LandingDeps) {
  /** Follows what the nodes see: `confirmed` may fall back to `sending`; what cannot be told is `held`. */
  function follow(id: string) {
    return {
      onCommitment: (seen: 'processed' | 'confirmed' | 'lost') =>
        ledger.withdrawals.note(id, seen === 'confirmed' ? 'confirmed' : 'sending', null),
      onUnknown: (why: string) =>
        ledger.withdrawals.note(id, 'held', { code: 'evidence_missing', message: why }),
    };
  }

  async function judged(id: string, attempt: AttemptRow): Promise<LandingOutcome> {
    const { signature, raw } = attempt;
    if (signature === null || raw === null)
      throw new DomainError('IllegalTransition', `attempt ${id}/${attempt.n} has no bytes`);
    return watcher.watch({ ...attempt, signature, raw }, { ...follow(id), signal: cancellationSignal() });
  }

  return {
    /** Returns when the attempt is finalized, failed on chain or proved dead; that is already in Postgres by then. */
    async landAttempt(input: {
      readonly id: string;
      readonly n: number;
      readonly signature: string;
    }): Promise<Landing> {
      const { id, n, signature } = input;
      const beat = setInterval(() => heartbeat({ signature }), HEARTBEAT_EVERY_MS);
      try {
        const stored = await ledger.attempts.get(id, n);
        if (isSettled(stored)) return landingOf(stored);
        const attempt = stored.raw === null ? await storeBytes(ledger, stored, signature) : stored;
        return landingOf(await settle(ledger, attempt, await judged(id, attempt)));
      } finally {
        clearInterval(beat);
      }
    },
  };
}

async function storeBytes(ledger: Ledger, attempt: AttemptRow, signature: string): Promise<AttemptRow> {
  const { withdrawalId, n, message, wallet } = attempt;
  const bytes = base64.decode(message);
  if (!verifySignature(wallet, bytes, base58.decode(signature))) {
    throw new DomainError('SigningRefused', `the signature for ${withdrawalId}/${n} is not one of ${wallet}`);
  }
  const { raw } = assembleTransaction(bytes, base58.decode(signature));
  return ledger.attempts.storeSignature(withdrawalId, n, signature, raw);
}

function isSettled(attempt: AttemptRow): boolean {
  return attempt.state === 'landed' || attempt.state === 'failed' || attempt.state === 'dead';
}

async function settle(
  ledger: Ledger,
  attempt: AttemptRow,
  { verdict, evidence, feeLamports }: LandingOutcome,
): Promise<AttemptRow> {
  return ledger.attempts.settle(attempt.withdrawalId, attempt.n, {
    state: verdict.kind,
    ...(verdict.kind === 'dead' ? {} : { slot: verdict.slot }),
    ...(verdict.kind === 'failed' ? { error: verdict.error, reason: failureOf(attempt, verdict.error) } : {}),
    ...(verdict.kind === 'landed' ? { amountReceived: await received(ledger, attempt) } : {}),
    ...(feeLamports === null ? {} : { feeLamports }),
    proof: evidence,
  });
}

/** What a settled attempt made of its withdrawal; the record has it already. */
function landingOf(attempt: AttemptRow): Landing {
  const { signature, state } = attempt;
  if (state === 'dead' || signature === null) return { kind: 'dead', signature };
  const slot = (attempt.slot ?? 0n).toString();
  if (state === 'landed') return { kind: 'finalized', signature, slot };
  return { kind: 'failed', signature, slot, reason: failureOf(attempt, attempt.error) };
}

function failureOf({ message }: AttemptRow, error: string | null): StatusReason {
  const text = describeFailure(error ?? 'no error is on record', base64.decode(message));
  return { code: 'failed_on_chain', message: text };
}

/** Base units that reached the destination: the chain fails a transfer whose declared fee is not what it withholds. */
async function received(ledger: Ledger, attempt: AttemptRow): Promise<bigint> {
  const { amount } = await ledger.withdrawals.get(attempt.withdrawalId);
  return amount - withheldBy(decodeMessage(base64.decode(attempt.message)));
}

import { base58, base64 } from '@scure/base';
import { cancellationSignal, sleep } from '@temporalio/activity';
import { DomainError } from '../domain/errors.ts';
import type { LandingReport } from '../domain/landing-report.ts';
import type { Landing } from '../domain/steps.ts';
import { isPaidByDead, type StatusReason } from '../domain/withdrawal.ts';
import type { AttemptOutcome, AttemptRow } from '../ledger/attempts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { WithdrawalRow } from '../ledger/withdrawals.ts';
import { verifySignature } from '../signing/verify.ts';
import type { Chain } from '../solana/chain.ts';
import { attemptOfRow } from '../solana/examination.ts';
import type { LandingWatcher } from '../solana/landing.ts';
import { decodeMessage } from '../solana/message.ts';
import { rentPaid, type Spending } from '../solana/spending.ts';
import { withheldBy } from '../solana/token-transfer.ts';
import { describeFailure, recordedError } from '../solana/transaction-error.ts';
import { assembleTransaction } from '../solana/transactions.ts';
import type { LandingHooks, LandingOutcome, Outlook } from '../solana/watch.ts';
import { LandingReporter } from './landing-reporter.ts';
import { unlessLost } from './lost-record.ts';
import { confirmOneCluster } from './one-cluster.ts';
import { PaidMeanwhile } from './paid-meanwhile.ts';
import { type MessageProof, SameMessage } from './same-message.ts';

export interface LandingDeps {
  readonly ledger: Ledger;
  readonly watcher: LandingWatcher;
  readonly chain: Chain;
  /** Milliseconds between two looks at a withdrawal that only people can end. Default 15,000. */
  readonly restMs?: number;
}

const REST_MS = 15_000;

/** Stores the signed bytes, then keeps them on the way until the chain has judged them, then records the judgement. */
export function createLanding(deps: LandingDeps) {
  const { ledger, restMs = REST_MS } = deps;
  const paid = new PaidMeanwhile(ledger.withdrawals);
  const sameMessage = new SameMessage(ledger, deps.chain);

  async function untilSettled(signed: AttemptRow, reporter: LandingReporter): Promise<AttemptRow> {
    const { withdrawalId, n } = signed;
    // While it is in doubt the wallet's history may show under which signature it has landed.
    for (let attempt = signed; ; attempt = await ledger.attempts.get(withdrawalId, n)) {
      const outcome = await judged({ ...deps, paid, sameMessage }, attempt, reporter);
      if (outcome !== null) return settle(ledger, attempt, outcome);
      await sleep(restMs);
    }
  }

  async function land(id: string, n: number, signature: string, reporter: LandingReporter): Promise<Landing> {
    const stored = await ledger.attempts.get(id, n);
    if (stored.signature !== null && stored.signature !== signature && !isSigned(stored, signature))
      throw new DomainError('NotFound', `attempt ${id}/${n} on record is ${stored.signature}`);
    const isOpen = stored.raw === null && !isSettled(stored);
    const attempt = isOpen ? await storeBytes(ledger, stored, signature) : stored;
    const isOnItsWay = attempt.raw !== null && !isSettled(attempt);
    const ended = isOnItsWay ? await untilSettled(attempt, reporter) : attempt;
    return landingOf(await whenPeopleAgree(ledger, ended, reporter, restMs));
  }

  return {
    /**
     * Returns when the attempt is finalized, failed on chain or proved dead; that is already in Postgres by then. Where a dead attempt
     * turns out to have paid, nothing is stored or sent any more, and only another death is a return: all else is for people to end.
     */
    async landAttempt(input: {
      readonly id: string;
      readonly n: number;
      readonly signature: string;
    }): Promise<Landing> {
      const { id, n, signature } = input;
      const reporter = new LandingReporter(n, signature);
      try {
        return await unlessLost(ledger, input, land(id, n, signature, reporter));
      } finally {
        reporter.stop();
      }
    },
  };
}

interface JudgingDeps extends LandingDeps {
  readonly paid: PaidMeanwhile;
  readonly sameMessage: SameMessage;
}

/** How an attempt ended; a dead one after a restore also by the proof that its message has not landed under any signature. */
type Judgement = LandingOutcome & { readonly ofMessage: MessageProof | null };

/** Null where its signature is dead, and its message may have landed under another one. */
async function judged(
  { ledger, watcher, chain, paid, sameMessage }: JudgingDeps,
  attempt: AttemptRow,
  reporter: LandingReporter,
): Promise<Judgement | null> {
  const { withdrawalId, n, signature, raw } = attempt;
  if (signature === null || raw === null)
    throw new DomainError('IllegalTransition', `attempt ${withdrawalId}/${n} has no bytes`);
  const row = await ledger.withdrawals.get(withdrawalId);
  const start = outlookOf(row);
  const alert = evidenceAlert(ledger, withdrawalId, start.status === 'held');
  reporter.show(reportOf(n, start));
  const hooks: LandingHooks = {
    signal: cancellationSignal(),
    maySend: async () => {
      const reason = isPaidByDead(row) ? row.reason : await paid.reasonFor(withdrawalId);
      if (reason !== null) reporter.show({ n, status: 'held', reason });
      return reason === null;
    },
    onOutlook: async (outlook) => {
      const report = reportOf(n, outlook);
      const noted = await ledger.withdrawals.note(withdrawalId, report.status, report.reason);
      if (!noted) return;
      reporter.show(report);
      await alert(report.reason);
    },
  };
  const watch = () => watcher.watch({ ...attemptOfRow(attempt, signature), raw }, hooks, start);
  const outcome = await paid.during(withdrawalId, watch);
  let ofMessage: MessageProof | null = null;
  if (outcome.verdict.kind === 'dead') {
    await confirmOneCluster(ledger, chain.pool);
    const word = await sameMessage.judge(attempt, outcome.evidence);
    if (word.doubt !== null) {
      await hooks.onOutlook({ status: 'held', why: word.doubt });
      return null;
    }
    ofMessage = word.proof;
  }
  await alert(null);
  return { ...outcome, ofMessage };
}

/** The attempt as it is on record when its run may go on; with a dead attempt that has paid that is when this one is dead, too. */
async function whenPeopleAgree(
  ledger: Ledger,
  ended: AttemptRow,
  reporter: LandingReporter,
  restMs: number,
): Promise<AttemptRow> {
  for (let attempt = ended; ; attempt = await ledger.attempts.get(attempt.withdrawalId, attempt.n)) {
    if (attempt.state === 'dead') return attempt;
    const row = await ledger.withdrawals.get(attempt.withdrawalId);
    if (!isPaidByDead(row)) return attempt;
    reporter.show({ n: attempt.n, status: row.status, reason: row.reason });
    await sleep(restMs);
  }
}

/** Keeps the alert about a withdrawal open for as long as there is a reason why nobody can tell how its attempt ends. */
function evidenceAlert(ledger: Ledger, subject: string, isOpen: boolean) {
  const kind = 'evidence_missing';
  let open = isOpen;
  return async (reason: StatusReason | null): Promise<void> => {
    if (reason !== null) await ledger.alerts.raise({ kind, subject, message: reason.message });
    else if (open) await ledger.alerts.close(kind, subject);
    open = reason !== null;
  };
}

/** What an earlier wait, perhaps of a worker that died, has left on record. */
function outlookOf({ status, reason }: WithdrawalRow): Outlook {
  if (status === 'held') return { status, why: reason?.message ?? 'held without a reason' };
  return { status: status === 'confirmed' ? status : 'sending', why: null };
}

function reportOf(n: number, { status, why }: Outlook): LandingReport {
  return { n, status, reason: why === null ? null : { code: 'evidence_missing', message: why } };
}

/** True for any signature of its message: a signer may answer another one each time, and the one on record is the one that counts. */
function isSigned({ message, wallet }: AttemptRow, signature: string): boolean {
  return verifySignature(wallet, base64.decode(message), base58.decode(signature));
}

async function storeBytes(ledger: Ledger, attempt: AttemptRow, signature: string): Promise<AttemptRow> {
  const { withdrawalId, n, message, wallet } = attempt;
  if (!isSigned(attempt, signature)) {
    throw new DomainError('SigningRefused', `the signature for ${withdrawalId}/${n} is not one of ${wallet}`);
  }
  const { raw } = assembleTransaction(base64.decode(message), base58.decode(signature));
  return ledger.attempts.storeSignature(withdrawalId, n, signature, raw);
}

function isSettled(attempt: AttemptRow): boolean {
  return attempt.state === 'landed' || attempt.state === 'failed' || attempt.state === 'dead';
}

async function settle(
  ledger: Ledger,
  attempt: AttemptRow,
  { verdict, evidence, times, spending, ofMessage }: Judgement,
): Promise<AttemptRow> {
  const withdrawal = await ledger.withdrawals.get(attempt.withdrawalId);
  return ledger.attempts.settle(attempt.withdrawalId, attempt.n, {
    ...(attempt.signature === null ? {} : { signature: attempt.signature }),
    state: verdict.kind,
    ...(verdict.kind === 'dead' ? {} : { slot: verdict.slot }),
    ...(verdict.kind === 'failed' ? { error: verdict.error, reason: failureOf(attempt, verdict.error) } : {}),
    ...(verdict.kind === 'landed' ? { amountReceived: received(withdrawal, attempt) } : {}),
    ...costOf(withdrawal, attempt, verdict.kind, spending),
    proof: { ...times, ...evidence, ...(ofMessage === null ? {} : { ofMessage }) },
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
  const text = describeFailure(recordedError(error ?? 'no error is on record'), base64.decode(message));
  return { code: 'failed_on_chain', message: text };
}

/** What it cost beside its amount, as far as that is shown. */
function costOf(
  { asset, amount }: WithdrawalRow,
  attempt: AttemptRow,
  end: LandingOutcome['verdict']['kind'],
  spending: Spending,
): Pick<AttemptOutcome, 'feeLamports' | 'rentLamports'> {
  const { feeLamports } = spending;
  const paidLamports = end === 'landed' && asset === 'SOL' ? amount : 0n;
  const rentLamports = rentPaid(spending, paidLamports, attempt.rentLamports);
  return {
    ...(feeLamports === null ? {} : { feeLamports }),
    ...(rentLamports === null ? {} : { rentLamports }),
  };
}

/** Base units that reached the destination: the chain fails a transfer whose declared fee is not what it withholds. */
function received({ amount }: WithdrawalRow, attempt: AttemptRow): bigint {
  return amount - withheldBy(decodeMessage(base64.decode(attempt.message)));
}

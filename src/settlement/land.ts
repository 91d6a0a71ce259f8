import { base58, base64 } from '@scure/base';
import { cancellationSignal, sleep } from '@temporalio/activity';
import { DomainError } from '../domain/errors.ts';
import type { LandingReport } from '../domain/landing-report.ts';
import { isPaidByDead, type StatusReason } from '../domain/settlement.ts';
import type { Landing } from '../domain/steps.ts';
import type { AttemptOutcome, AttemptRow } from '../ledger/attempts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SettlementRow } from '../ledger/settlements.ts';
import type { Chain } from '../solana/chain.ts';
import { attemptOfRow } from '../solana/examination.ts';
import type { LandingWatcher } from '../solana/landing.ts';
import { rentPaid, type Spending } from '../solana/spending.ts';
import { describeFailure, recordedError } from '../solana/transaction-error.ts';
import { assembleTransaction } from '../solana/transactions.ts';
import type { LandingHooks, LandingOutcome, Outlook } from '../solana/watch.ts';
import type { Kinds } from './kind.ts';
import { LandingReporter } from './landing-reporter.ts';
import { unlessLost } from './lost-record.ts';
import { confirmOneCluster } from './one-cluster.ts';
import { PaidMeanwhile } from './paid-meanwhile.ts';
import { type MessageProof, SameMessage } from './same-message.ts';
import { signerOf } from './signer-of.ts';

export interface LandingDeps {
  readonly ledger: Ledger;
  readonly watcher: LandingWatcher;
  readonly chain: Chain;
  readonly kinds: Kinds;
  /** Milliseconds between two looks at a settlement that only people can end. Default 15,000. */
  readonly restMs?: number;
}

const REST_MS = 15_000;

/** Stores the signed bytes, then keeps them on the way until the chain has judged them, then records the judgement. */
export function createLanding(deps: LandingDeps) {
  const { ledger, restMs = REST_MS } = deps;
  const paid = new PaidMeanwhile(ledger.settlements);
  const sameMessage = new SameMessage(ledger, deps.chain);

  async function untilSettled(signed: AttemptRow, reporter: LandingReporter): Promise<AttemptRow> {
    const { settlementId, n } = signed;
    // While it is in doubt the wallet's history may show under which signature it has landed.
    for (let attempt = signed; ; attempt = await ledger.attempts.get(settlementId, n)) {
      const outcome = await judged({ ...deps, paid, sameMessage }, attempt, reporter);
      if (outcome !== null) return settle(deps, attempt, outcome);
      await sleep(restMs);
    }
  }

  async function land(id: string, n: number, signature: string, reporter: LandingReporter): Promise<Landing> {
    const stored = await ledger.attempts.get(id, n);
    if (stored.signature !== null && stored.signature !== signature && !isSigned(stored, signature))
      throw new DomainError('NotFound', `attempt ${id}/${n} on record is ${stored.signature}`);
    const attempt = stored.state === 'prepared' ? await storeBytes(ledger, stored, signature) : stored;
    if (attempt.state === 'prepared' && attempt.signature !== null)
      throw new DomainError('IllegalTransition', `attempt ${id}/${n} is not signed by all of its signers`);
    const ended = attempt.state === 'signed' ? await untilSettled(attempt, reporter) : attempt;
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
  const { settlementId, n, signature, state } = attempt;
  if (signature === null || state !== 'signed')
    throw new DomainError('IllegalTransition', `attempt ${settlementId}/${n} is not signed`);
  const row = await ledger.settlements.get(settlementId);
  const start = outlookOf(row);
  const alert = evidenceAlert(ledger, settlementId, start.status === 'held');
  reporter.show(reportOf(n, start));
  const hooks: LandingHooks = {
    signal: cancellationSignal(),
    maySend: async () => {
      const reason = isPaidByDead(row) ? row.reason : await paid.reasonFor(settlementId);
      if (reason !== null) reporter.show({ n, status: 'held', reason });
      return reason === null;
    },
    onOutlook: async (outlook) => {
      const report = reportOf(n, outlook);
      const noted = await ledger.settlements.note(settlementId, report.status, report.reason);
      if (!noted) return;
      reporter.show(report);
      await alert(report.reason);
    },
  };
  const watched = { ...attemptOfRow(attempt, signature), raw: bytesOf(attempt) };
  const watch = () => watcher.watch(watched, hooks, start);
  const outcome = await paid.during(settlementId, watch);
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
  for (let attempt = ended; ; attempt = await ledger.attempts.get(attempt.settlementId, attempt.n)) {
    if (attempt.state === 'dead') return attempt;
    const row = await ledger.settlements.get(attempt.settlementId);
    if (!isPaidByDead(row)) return attempt;
    reporter.show({ n: attempt.n, status: row.status, reason: row.reason });
    await sleep(restMs);
  }
}

/** Keeps the alert about a settlement open for as long as there is a reason why nobody can tell how its attempt ends. */
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
function outlookOf({ status, reason }: SettlementRow): Outlook {
  if (status === 'held') return { status, why: reason?.message ?? 'held without a reason' };
  return { status: status === 'confirmed' ? status : 'sending', why: null };
}

function reportOf(n: number, { status, why }: Outlook): LandingReport {
  return { n, status, reason: why === null ? null : { code: 'evidence_missing', message: why } };
}

/** True for any signature of its message: a signer may answer another one each time, and the one on record is the one that counts. */
function isSigned(attempt: AttemptRow, signature: string): boolean {
  return signerOf(attempt, signature) === attempt.signers[0];
}

async function storeBytes(ledger: Ledger, attempt: AttemptRow, signature: string): Promise<AttemptRow> {
  const { settlementId, n, signers } = attempt;
  if (!isSigned(attempt, signature)) {
    throw new DomainError(
      'SigningRefused',
      `the signature for ${settlementId}/${n} is not one of ${signers[0]}`,
    );
  }
  return ledger.attempts.storeSignature(settlementId, n, signature);
}

/** The signed transaction, base64. */
function bytesOf({ message, signatures }: AttemptRow): string {
  const signed = signatures.map((signature) => base58.decode(signature ?? ''));
  return assembleTransaction(base64.decode(message), ...signed).raw;
}

async function settle(
  { ledger, kinds }: LandingDeps,
  attempt: AttemptRow,
  { verdict, evidence, times, spending, ofMessage }: Judgement,
): Promise<AttemptRow> {
  const settlement = await ledger.settlements.get(attempt.settlementId);
  const kind = kinds[settlement.kind];
  const landed = verdict.kind === 'landed' ? await kind?.landed?.(settlement, attempt) : undefined;
  const settled = await ledger.attempts.settle(attempt.settlementId, attempt.n, {
    ...(attempt.signature === null ? {} : { signature: attempt.signature }),
    state: verdict.kind,
    ...(verdict.kind === 'dead' ? {} : { slot: verdict.slot }),
    ...(verdict.kind === 'failed' ? { error: verdict.error, reason: failureOf(attempt, verdict.error) } : {}),
    ...(landed === undefined ? {} : { amountReceived: landed.amountReceived }),
    ...costOf(attempt, landed?.movedLamports ?? 0n, spending),
    proof: { ...times, ...evidence, ...(ofMessage === null ? {} : { ofMessage }) },
  });
  await kind?.afterwards?.(settled);
  return settled;
}

/** What a settled attempt made of its settlement; the record has it already. */
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

/** What it cost beside what it moved, as far as that is shown. */
function costOf(
  { rentLamports: planned }: AttemptRow,
  movedLamports: bigint,
  spending: Spending,
): Pick<AttemptOutcome, 'feeLamports' | 'rentLamports'> {
  const { feeLamports } = spending;
  const rentLamports = rentPaid(spending, movedLamports, planned);
  return {
    ...(feeLamports === null ? {} : { feeLamports }),
    ...(rentLamports === null ? {} : { rentLamports }),
  };
}

import { base58, base64 } from '@scure/base';
import { DomainError } from '../domain/errors.ts';
import { isPaidByDead, type StatusReason } from '../domain/settlement.ts';
import type { LandingReport } from '../domain/steps.ts';
import { isDatabaseUnavailable } from '../ledger/connection.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptOutcome, AttemptRow } from '../ledger/settlements/attempts.ts';
import type { SettlementRow, Settlements } from '../ledger/settlements/settlements.ts';
import type { Chain } from '../solana/chain.ts';
import { attemptEvidence } from '../solana/proof/attempt-evidence.ts';
import { attemptOfRow } from '../solana/proof/examine.ts';
import type { LandingWatcher } from '../solana/proof/landing.ts';
import { rentPaid, type Spending } from '../solana/proof/spending.ts';
import type { AttemptProgress, LandingHooks, LandingOutcome } from '../solana/proof/watch.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';
import { recordedError } from '../solana/tx/error.ts';
import { canSucceedLater, describeFailure } from '../solana/tx/failure-causes.ts';
import { assembleTransaction } from '../solana/tx/transfer.ts';
import { type Kinds, kindOf } from './kind.ts';
import type { LandingReporter } from './land.ts';
import { type MessageProof, type MessageVerdict, SameMessage } from './same-message.ts';

export interface JudgeDeps {
  readonly ledger: Ledger;
  readonly watcher: LandingWatcher;
  readonly chain: Chain;
  readonly kinds: Kinds;
}

type ProgressReporter = Pick<LandingReporter, 'begin' | 'show'>;

export function createJudge(deps: JudgeDeps) {
  const parts: JudgeParts = {
    ...deps,
    payments: new DeadAttemptPayments(deps.ledger.settlements),
    sameMessage: new SameMessage(deps.ledger, deps.chain),
  };
  /** `stored`: the settlement, if the caller knows it; else it is read. */
  return async (
    attempt: AttemptRow,
    reporter: ProgressReporter,
    signal: AbortSignal,
    stored?: JudgedSettlement,
  ) => {
    const settlement = stored ?? (await deps.ledger.settlements.get(attempt.settlementId));
    return followAttempt(parts, settlement, attempt, reporter, signal);
  };
}

export type JudgedSettlement = Pick<SettlementRow, 'id' | 'kind' | 'status' | 'reason'>;

interface JudgeParts extends JudgeDeps {
  readonly payments: DeadAttemptPayments;
  readonly sameMessage: SameMessage;
}

/**
 * How an attempt ended. `ofMessage` is the proof that the message of a dead attempt landed under no signature; null
 * if none was needed.
 */
export type Judgement = LandingOutcome & { readonly ofMessage: MessageProof | null };

/**
 * Follows an attempt until there is a verdict. Null if the signed attempt can no longer land, but its message has
 * landed under another signature, which is stored now, or may have.
 */
async function followAttempt(
  deps: JudgeParts,
  row: JudgedSettlement,
  attempt: AttemptRow,
  reporter: ProgressReporter,
  signal: AbortSignal,
): Promise<Judgement | null> {
  const { ledger, watcher, payments } = deps;
  const { settlementId, n, signature, state } = attempt;
  if (signature === null || state !== 'signed')
    throw new DomainError('IllegalTransition', `attempt ${settlementId}/${n} is not signed`);
  const start = attemptProgress(row);
  const alert = evidenceAlert(ledger, settlementId, start.status === 'held');
  const answersAt = ledger.settlements.answersAt(row.kind);
  reporter.begin(reportOf(n, start), answersAt);
  const hooks: LandingHooks = {
    signal,
    answersAt,
    maySend: sendGuard(deps, row, n, reporter),
    onProgress: async (progress) => {
      const report = reportOf(n, progress);
      const noted = await ledger.settlements.note(settlementId, report.status, report.reason);
      if (!noted) return;
      reporter.show(report);
      await alert(report.reason);
    },
  };
  const watched = { ...attemptOfRow(attempt, signature), raw: bytesOf(attempt) };
  const watch = () => watcher.watch(watched, hooks, start);
  const outcome = await payments.during(settlementId, watch);
  const message = await verdictOnMessage(deps, attempt, outcome);
  if (message.unproved !== null) {
    // A quorum's block contains the message under other signatures: the next round judges the attempt by these.
    if (message.landedWith !== undefined)
      await ledger.attempts.storeFoundSignatures(settlementId, n, message.landedWith, true);
    else await hooks.onProgress({ status: 'held', reason: message.unproved });
    return null;
  }
  await alert(null);
  return { ...outcome, ofMessage: message.proof };
}

/**
 * Returns a function that checks whether the bytes may be sent now. They must not be sent while a dead attempt has
 * paid the settlement.
 */
function sendGuard(
  { ledger, payments }: JudgeParts,
  row: JudgedSettlement,
  n: number,
  reporter: ProgressReporter,
) {
  let stopped = isPaidByDead(row) ? row.reason : null;
  return async (): Promise<boolean> => {
    const before = stopped;
    stopped = before && (await paidByDeadReason(ledger, row.id, before));
    stopped ??= await payments.reasonFor(row.id);
    const reason = stopped;
    if (reason !== null) reporter.show({ n, status: 'held', reason });
    else if (before !== null) reporter.show({ n, status: 'sending', reason });
    return reason === null;
  };
}

/** Why a settlement that a dead attempt has paid is not sent; null after an operator has cleared it. */
async function paidByDeadReason(
  ledger: Ledger,
  id: string,
  before: StatusReason,
): Promise<StatusReason | null> {
  const read = async () => {
    const row = await ledger.settlements.get(id);
    return isPaidByDead(row) ? row.reason : null;
  };
  return read().catch(lastIfAway(before));
}

/** Handler for `catch`: returns `last` while PostgreSQL does not answer, and throws any other error. */
function lastIfAway<T>(last: T): (error: unknown) => T {
  return (error) => {
    if (isDatabaseUnavailable(error)) return last;
    throw error;
  };
}

/** Whether the message of a dead attempt may have landed under another signature. */
async function verdictOnMessage(
  { ledger, chain, sameMessage }: JudgeParts,
  attempt: AttemptRow,
  { verdict, evidence }: LandingOutcome,
): Promise<MessageVerdict> {
  if (verdict.kind !== 'dead') return { unproved: null, proof: null };
  await confirmOneCluster(ledger, chain.pool);
  return sameMessage.judge(attempt, evidence);
}

/** Keeps the alert open while the outcome of the attempt cannot be determined. */
function evidenceAlert(ledger: Ledger, subject: string, isOpen: boolean) {
  const kind = 'evidence_missing';
  let open = isOpen;
  return async (reason: StatusReason | null): Promise<void> => {
    if (reason !== null) await ledger.alerts.raise({ kind, subject, message: reason.message });
    else if (open) await ledger.alerts.close(kind, subject);
    open = reason !== null;
  };
}

/** Progress that an earlier wait stored, for example in a worker that crashed. */
function attemptProgress({ status, reason }: JudgedSettlement): AttemptProgress {
  if (status === 'held')
    return { status, reason: reason?.message ?? 'the settlement is held without a reason' };
  return { status: status === 'confirmed' ? status : 'sending', reason: null };
}

function reportOf(n: number, { status, reason }: AttemptProgress): LandingReport {
  return { n, status, reason: reason === null ? null : { code: 'evidence_missing', message: reason } };
}

function bytesOf({ message, signatures }: AttemptRow): string {
  const signed = signatures.map((signature) => base58.decode(signature ?? ''));
  return assembleTransaction(base64.decode(message), ...signed).raw;
}

export async function settle(
  { ledger, kinds }: JudgeDeps,
  attempt: AttemptRow,
  { verdict, evidence, times, spending, ofMessage }: Judgement,
): Promise<AttemptRow> {
  const kind = kindOf(kinds, attempt);
  const landed = verdict.kind === 'landed' ? await kind.landedAmounts?.(attempt, spending) : undefined;
  const amountReceived = landed?.amountReceived ?? null;
  const settled = await ledger.attempts.settle(attempt.settlementId, attempt.n, {
    ...(attempt.signature === null ? {} : { signature: attempt.signature }),
    state: verdict.kind,
    ...(verdict.kind === 'dead' ? {} : { slot: verdict.slot }),
    ...(verdict.kind === 'failed' ? failedOutcome(attempt, verdict.error) : {}),
    ...(amountReceived === null ? {} : { amountReceived }),
    ...costOf(attempt, landed?.movedLamports ?? 0n, spending),
    proof: proofOf(attempt, { evidence, times, ofMessage }),
  });
  await kind.afterAttemptEnd?.(settled);
  return settled;
}

/** The proof to store: of the signed attempt, and of its message. */
function proofOf(
  row: AttemptRow,
  { evidence, times, ofMessage }: Pick<Judgement, 'evidence' | 'times' | 'ofMessage'>,
) {
  const attempt = attemptOfRow(row, row.signature);
  return {
    ...attemptEvidence(attempt, evidence, times),
    ofMessage: ofMessage && attemptEvidence(attempt, ofMessage, ofMessage),
  };
}

function failedOutcome(
  attempt: AttemptRow,
  error: string,
): Pick<AttemptOutcome, 'error' | 'reason' | 'mayPass'> {
  const canPass = canSucceedLater(recordedError(error), base64.decode(attempt.message));
  return { error, reason: failureOf(attempt, error), mayPass: canPass };
}

export function failureOf({ message }: AttemptRow, error: string | null): StatusReason {
  const text = describeFailure(recordedError(error ?? 'no error is recorded'), base64.decode(message));
  return { code: 'failed_on_chain', message: text };
}

/** The fee and rent that were paid, as far as the nodes report them. */
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

/**
 * Checks that a quorum of nodes still serves the cluster of the pool, and that the database belongs to it. Call this
 * before an attempt is declared dead or judged: while a process runs, the address of a node or database can begin to
 * lead elsewhere.
 * @throws NoHealthyNode
 * @throws WrongCluster
 */
export async function confirmOneCluster(
  ledger: Pick<Ledger, 'cluster'>,
  pool: Pick<NodePool, 'confirmCluster' | 'genesisHash'>,
): Promise<void> {
  await pool.confirmCluster();
  await ledger.cluster.check(pool.genesisHash);
}

/** All watches of this process share one query for this long. Equal to the interval of resending. */
const PAYMENTS_TTL_MS = 2_000;

/** Finds out for the watches of this process whether a dead attempt has paid their settlement. */
class DeadAttemptPayments {
  readonly #settlements: Pick<Settlements, 'paidByDead'>;
  readonly #watched = new Map<symbol, string>();
  readonly #queries = new TtlCache<ReadonlyMap<string, StatusReason>>(PAYMENTS_TTL_MS, 1);
  #lastResult: ReadonlyMap<string, StatusReason> = new Map();

  constructor(settlements: Pick<Settlements, 'paidByDead'>) {
    this.#settlements = settlements;
  }

  /** Includes the settlement in the shared query until `wait` has ended. */
  async during<T>(id: string, wait: () => Promise<T>): Promise<T> {
    const key = Symbol(id);
    this.#watched.set(key, id);
    try {
      return await wait();
    } finally {
      this.#watched.delete(key);
    }
  }

  /**
   * Why a settlement that a dead attempt has paid is held, or null; at most two seconds old. While PostgreSQL does
   * not answer, the last result is returned.
   */
  async reasonFor(id: string): Promise<StatusReason | null> {
    const ask = () => this.#settlements.paidByDead([...this.#watched.values()]);
    this.#lastResult = await this.#queries.get('', ask).catch(lastIfAway(this.#lastResult));
    return this.#lastResult.get(id) ?? null;
  }
}

import pLimit from 'p-limit';
import type { Alarm } from '../../domain/alerts.ts';
import { type InflowVerdict, isAlike, type ReportedInflow } from '../../domain/quorum-result.ts';
import { depositId } from '../../ledger/deposits/deposit-id.ts';
import type { DepositRow } from '../../ledger/deposits/deposit-row.ts';
import type { Confirmation } from '../../ledger/deposits/deposit-writing.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import { type Answer, agree, answersIn } from '../../solana/rpc/quorum.ts';
import type { DepositMatcher, MatchTransaction } from '../scan/matcher.ts';
import { agreedTransaction, inflowIn, type MatchedTransaction, readMatched } from './agreed-transaction.ts';
import { addHiddenDeposits } from './hidden-arrivals.ts';

export interface ConfirmDeps {
  readonly ledger: Ledger;
  readonly pool: NodePool;
  readonly matcher: DepositMatcher;
  /** Time after which a finalized but unconfirmed deposit raises an alert. Default two minutes. */
  readonly alertAfterMs?: number;
}

/** Small, so that new deposits do not wait long for a page of retried deposits. */
const PAGE_DEPOSITS = 128;
const MAX_CONCURRENT_TRANSACTIONS = 32;
const ALERT_AFTER_MS = 120_000;
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 60_000;

/**
 * Confirms deposits: a quorum of nodes must return the transaction with the same amount, owner and rejection reason.
 * The node that returned the scanned block is not trusted. Create one instance per process, which stores the back-off.
 */
export class DepositConfirmer {
  readonly #deps: ConfirmDeps;
  readonly #backoff = new Backoff<bigint>(FIRST_WAIT_MS, MAX_WAIT_MS);

  constructor(deps: ConfirmDeps) {
    this.#deps = deps;
  }

  /**
   * Checks pending finalized deposits, new deposits first and retried deposits with back-off, until none is due or
   * `signal` is aborted. Returns the number of deposits that are no longer pending.
   */
  async confirm(signal?: AbortSignal): Promise<number> {
    let judge: MatchTransaction | undefined;
    let confirmed = 0;
    while (signal?.aborted !== true) {
      const { ids, rows } = await this.#nextPage();
      if (ids.length === 0) break;
      judge ??= await this.#deps.matcher.transactionMatcher();
      confirmed += await this.#confirmPage(judge, ids, rows, signal);
    }
    return confirmed;
  }

  /** The next deposits, new deposits first. Deposits in `ids` without a row are no longer pending. */
  async #nextPage(): Promise<{ readonly ids: readonly bigint[]; readonly rows: readonly DepositRow[] }> {
    const { deposits } = this.#deps.ledger;
    const newRows = await deposits.unconfirmed(PAGE_DEPOSITS, this.#backoff.keys);
    if (newRows.length > 0) return { ids: newRows.map(({ id }) => id), rows: newRows };
    const ids = this.#backoff.due(performance.now(), PAGE_DEPOSITS);
    return { ids, rows: await deposits.unconfirmedAmong(ids) };
  }

  async #confirmPage(
    judge: MatchTransaction,
    ids: readonly bigint[],
    rows: readonly DepositRow[],
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const skippedIds = new Set<bigint>();
    const confirmations = await pLimit(MAX_CONCURRENT_TRANSACTIONS).map(
      bySignature(rows),
      async ([signature, group]) => {
        if (signal?.aborted !== true) return this.#confirmGroup(judge, signature, group);
        for (const { id } of group) skippedIds.add(id);
        return [];
      },
    );
    const endedIds = new Set(await this.#deps.ledger.deposits.confirm(confirmations.flat()));
    const failedIds = rows.map(({ id }) => id).filter((id) => !endedIds.has(id) && !skippedIds.has(id));
    const examinedIds = ids.filter((id) => !skippedIds.has(id));
    this.#backoff.note(examinedIds, new Set(failedIds), performance.now());
    return endedIds.size;
  }

  async #confirmGroup(
    judge: MatchTransaction,
    signature: string,
    rows: readonly DepositRow[],
  ): Promise<readonly Confirmation[]> {
    const { pool, ledger, alertAfterMs = ALERT_AFTER_MS } = this.#deps;
    const nested = rows.filter(({ reason }) => reason === 'nested_token_account').map(({ wallet }) => wallet);
    const versions = await this.#readVersions((one) => judge(one, nested), signature, rows);
    const confirmations: Confirmation[] = [];
    for (const row of rows) {
      const answers = versions.map(({ node, answer }) => ({ node, answer: inflowIn(answer, row) }));
      const verdict = verdictOn(row, answers, pool.quorum);
      if (verdict !== null) {
        confirmations.push({ row, verdict });
        continue;
      }
      const waitedMs = Date.now() - (row.finalizedAt ?? row.createdAt).getTime();
      const denied = answers.some(({ answer }) => answer === null || !isAlike(answer, row));
      if (denied || waitedMs > alertAfterMs) await ledger.alerts.raise(alertOf(row, answers));
    }
    return confirmations;
  }

  /** The versions of the transaction that nodes return; if a quorum agrees, only the agreed version. */
  async #readVersions(
    judge: MatchTransaction,
    signature: string,
    rows: readonly DepositRow[],
  ): Promise<readonly Answer<MatchedTransaction>[]> {
    const { pool } = this.#deps;
    const agreed = await agreedTransaction(pool, signature, judge);
    if (agreed !== null) {
      await addHiddenDeposits(this.#deps, rows, agreed.answer);
      return agreed.nodes.map((node) => ({ node, answer: agreed.answer }));
    }
    const answers = answersIn(await pool.all((node) => readMatched(node, signature, judge)));
    return answers.flatMap(({ node, answer }) => (answer === null ? [] : [{ node, answer }]));
  }
}

/**
 * The inflow on which at least `quorum` nodes agree, including its owner; null if too few agree. If it equals the
 * recorded inflow, the recorded reason is used, because our own terms are applied only when the block is read.
 */
export function verdictOn(
  recorded: ReportedInflow,
  answers: readonly Answer<ReportedInflow | null>[],
  quorum: number,
): InflowVerdict | null {
  const inflows = answers.flatMap(({ node, answer }) => (answer === null ? [] : [{ node, answer }]));
  const agreed = agree(inflows, quorum, isAlike);
  if (agreed === null) return null;
  const { wallet, amount, reason } = isAlike(recorded, agreed.answer) ? recorded : agreed.answer;
  return { wallet, amount, reason, by: agreed.nodes };
}

function bySignature(rows: readonly DepositRow[]): readonly (readonly [string, readonly DepositRow[]])[] {
  const groups = new Map<string, DepositRow[]>();
  for (const row of rows) groups.set(row.signature, [...(groups.get(row.signature) ?? []), row]);
  return [...groups];
}

function alertOf(row: DepositRow, answers: readonly Answer<ReportedInflow | null>[]): Alarm {
  const { signature, asset, amount, account, reason } = row;
  const nodesThat = (agrees: boolean): readonly string[] =>
    answers.flatMap(({ node, answer }) =>
      (answer !== null && isAlike(answer, row)) === agrees ? [node] : [],
    );
  const [agreeing, denying] = [nodesThat(true), nodesThat(false)];
  const confirmation = agreeing.length === 0 ? 'no node confirms' : `only ${agreeing.join(', ')} confirms`;
  const denial = denying.length === 0 ? '' : `, ${denying.join(', ')} denies`;
  const reasonText = reason === null ? '' : ` as ${reason}`;
  return {
    kind: 'deposit_unconfirmed',
    subject: depositId(row),
    message: `${confirmation}${denial} that ${amount} base units of ${asset} arrived at ${account}${reasonText}: the deposit stays pending`,
    details: { signature, account, asset, amount: amount.toString(), reason, agree: agreeing, deny: denying },
  };
}

/** Exponential back-off for each key. It is in memory only: a new process tries each key immediately. */
export class Backoff<Key> {
  readonly #waits = new Map<Key, { readonly until: number; readonly ms: number }>();
  readonly #firstMs: number;
  readonly #longestMs: number;

  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
  }

  get keys(): readonly Key[] {
    return [...this.#waits.keys()];
  }

  /** At most `limit` keys whose wait is over at `now`, in the order in which their waits ended. */
  due(now: number, limit: number): readonly Key[] {
    const due = [...this.#waits].filter(([, { until }]) => until <= now);
    return due
      .toSorted(([, one], [, other]) => one.until - other.until)
      .slice(0, limit)
      .map(([key]) => key);
  }

  /** Backs off the `failed` keys. If a retried key is among `attempted` and no key failed, all back-offs are cleared. */
  note(attempted: readonly Key[], failed: ReadonlySet<Key>, now: number): void {
    const hasRetried = attempted.some((key) => this.#waits.has(key));
    for (const key of attempted) {
      const before = this.#waits.get(key);
      this.#waits.delete(key);
      const ms = before === undefined ? this.#firstMs : Math.min(2 * before.ms, this.#longestMs);
      if (failed.has(key)) this.#waits.set(key, { until: now + ms, ms });
    }
    if (hasRetried && failed.size === 0) this.#waits.clear();
  }
}

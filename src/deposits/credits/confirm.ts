import pLimit from 'p-limit';
import type { Alarm } from '../../domain/alerts.ts';
import { describeInflow, type InflowAnswer, isAlike, verdictOn } from '../../domain/quorum-result.ts';
import { depositId } from '../../ledger/deposits/deposit-id.ts';
import type { DepositRow } from '../../ledger/deposits/deposit-row.ts';
import type { Confirmation } from '../../ledger/deposits/deposit-writing.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type FetchTransaction, fetchFromBlock } from '../../solana/history/transaction.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import { type DepositMatcher, type Judge, withNested } from '../scan/matcher.ts';
import {
  type Agreed,
  agreedTransaction,
  arrivalIn,
  type JudgedTransaction,
  shownBy,
} from './agreed-transaction.ts';
import { addHiddenArrivals } from './hidden-arrivals.ts';

export interface ConfirmDeps {
  readonly ledger: Ledger;
  readonly pool: NodePool;
  readonly matcher: DepositMatcher;
  /** Milliseconds after which a finalized, unconfirmed deposit raises an alert. Default two minutes. */
  readonly patienceMs?: number;
}

interface ConfirmationAnswer {
  readonly node: string;
  readonly shown: JudgedTransaction;
}

/** Small, so that new deposits never wait long behind retried ones. */
const PAGE = 128;
const AT_ONCE = 32;
/** From this many transactions of one slot, each node is asked once for the block. */
const BLOCK_FROM = 4;
/** A mainnet block takes megabytes of memory for each node of a quorum. */
const BLOCKS_AT_ONCE = 4;
const PATIENCE_MS = 120_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;

/**
 * Confirms deposits by a quorum of nodes, each asked for the transaction itself: amount, owner and whether it
 * is credited. The node of the scanned block is trusted in neither. One instance per process, because it
 * remembers the back-off.
 */
export class DepositConfirmer {
  readonly #deps: ConfirmDeps;
  readonly #backoff = new Backoff<bigint>(FIRST_WAIT_MS, LONGEST_WAIT_MS);

  constructor(deps: ConfirmDeps) {
    this.#deps = deps;
  }

  /** Checks pending finalized deposits until `end`: new ones at once, others with back-off. Returns how many ended. */
  async confirm(end?: AbortSignal): Promise<number> {
    let judge: Judge | undefined;
    let confirmed = 0;
    while (end?.aborted !== true) {
      const { asked, rows } = await this.#next();
      if (asked.length === 0) break;
      judge ??= await this.#deps.matcher.judge();
      confirmed += await this.#witness(judge, asked, rows, end);
    }
    return confirmed;
  }

  /** The next deposits, new ones first. Ids in `asked` without a row have ended meanwhile. */
  async #next(): Promise<{ readonly asked: readonly bigint[]; readonly rows: readonly DepositRow[] }> {
    const { deposits } = this.#deps.ledger;
    const fresh = await deposits.unconfirmed(PAGE, this.#backoff.known);
    if (fresh.length > 0) return { asked: fresh.map(({ id }) => id), rows: fresh };
    const asked = this.#backoff.due(performance.now(), PAGE);
    return { asked, rows: await deposits.unconfirmedAmong(asked) };
  }

  async #witness(
    judge: Judge,
    asked: readonly bigint[],
    rows: readonly DepositRow[],
    end: AbortSignal | undefined,
  ): Promise<number> {
    const left = new Set<bigint>();
    const turn = pLimit(AT_ONCE);
    const hearAll = (groups: readonly OfSignature[], fetch?: FetchTransaction) =>
      turn.map(groups, async ([signature, group]) => {
        if (end?.aborted !== true) return this.#hear(judge, signature, group, fetch);
        for (const { id } of group) left.add(id);
        return [];
      });
    const slots = [...bySlot(bySignature(rows))];
    const single = slots.flatMap(([, groups]) => (groups.length < BLOCK_FROM ? groups : []));
    const blocks = slots.filter(([, groups]) => groups.length >= BLOCK_FROM);
    const found = await Promise.all([
      hearAll(single),
      pLimit(BLOCKS_AT_ONCE).map(blocks, async ([slot, groups]) =>
        (await hearAll(groups, fetchFromBlock(slot, (await this.#deps.matcher.watch()).set, end))).flat(),
      ),
    ]);
    const ended = new Set(await this.#deps.ledger.deposits.confirm(found.flat(2)));
    const failed = rows.map(({ id }) => id).filter((id) => !ended.has(id) && !left.has(id));
    const heard = asked.filter((id) => !left.has(id));
    this.#backoff.note(heard, new Set(failed), performance.now());
    return ended.size;
  }

  async #hear(
    judge: Judge,
    signature: string,
    rows: readonly DepositRow[],
    fetch?: FetchTransaction,
  ): Promise<readonly Confirmation[]> {
    const { pool, ledger, patienceMs = PATIENCE_MS } = this.#deps;
    const nested = rows.filter(({ reason }) => reason === 'nested_token_account').map(({ wallet }) => wallet);
    const heard = await this.#ask(withNested(judge, nested), signature, rows, fetch);
    const confirmations: Confirmation[] = [];
    for (const row of rows) {
      const testimonies = heard.map(({ node, shown }) => ({ node, arrival: arrivalIn(shown, row) }));
      const verdict = verdictOn(row, testimonies, pool.quorum);
      if (verdict !== null) {
        confirmations.push({ row, verdict });
        continue;
      }
      const waitedMs = Date.now() - (row.finalizedAt ?? row.createdAt).getTime();
      const denied = testimonies.some(({ arrival }) => arrival === null || !isAlike(arrival, row));
      if (denied || waitedMs > patienceMs) await ledger.alerts.raise(alarmOf(row, testimonies));
    }
    return confirmations;
  }

  /** Distrusts nodes whose blocks returned an arrival that a quorum denies. */
  #blame(rows: readonly DepositRow[], { shown, nodes }: Agreed): void {
    const { pool, matcher } = this.#deps;
    for (const row of rows.filter((one) => !isShownAs(one, shown)))
      for (const liar of matcher.showings.by(row))
        pool.distrust(
          liar,
          `showed ${describeInflow(row)} in slot ${row.slot}, which ${nodes.join(', ')} deny`,
        );
  }

  /**
   * Node answers that have the transaction of these rows; if a quorum agrees, only its answer. Without
   * agreement in blocks, each node is asked for the transaction alone.
   */
  async #ask(
    judge: Judge,
    signature: string,
    rows: readonly DepositRow[],
    fetch?: FetchTransaction,
  ): Promise<readonly ConfirmationAnswer[]> {
    const { pool } = this.#deps;
    const inBlock = fetch && (await agreedTransaction(pool, signature, judge, fetch));
    const agreed = inBlock ?? (await agreedTransaction(pool, signature, judge));
    if (agreed !== null) {
      this.#blame(rows, agreed);
      await addHiddenArrivals(this.#deps, rows, agreed.shown);
      return agreed.nodes.map((node) => ({ node, shown: agreed.shown }));
    }
    const answers = await pool.all((node) => shownBy(node, signature, judge));
    return answers.flatMap(({ node, result }) =>
      result.status === 'rejected' || result.value === null ? [] : [{ node, shown: result.value }],
    );
  }
}

/** True if the chain has this amount for this wallet. Any other difference may be an error of our own row. */
function isShownAs(row: DepositRow, shown: JudgedTransaction): boolean {
  const arrival = arrivalIn(shown, row);
  return arrival !== null && arrival.wallet === row.wallet && arrival.amount === row.amount;
}

type OfSignature = readonly [string, readonly DepositRow[]];

function bySlot(groups: readonly OfSignature[]): ReadonlyMap<bigint, readonly OfSignature[]> {
  const slots = new Map<bigint, OfSignature[]>();
  for (const group of groups) {
    const slot = group[1][0]?.slot ?? 0n;
    slots.set(slot, [...(slots.get(slot) ?? []), group]);
  }
  return slots;
}

function bySignature(rows: readonly DepositRow[]): readonly OfSignature[] {
  const groups = new Map<string, DepositRow[]>();
  for (const row of rows) groups.set(row.signature, [...(groups.get(row.signature) ?? []), row]);
  return [...groups];
}

function alarmOf(row: DepositRow, testimonies: readonly InflowAnswer[]): Alarm {
  const { signature, asset, amount, account, reason } = row;
  const named = (agrees: boolean): readonly string[] =>
    testimonies.flatMap(({ node, arrival }) =>
      (arrival !== null && isAlike(arrival, row)) === agrees ? [node] : [],
    );
  const [agree, deny] = [named(true), named(false)];
  const shown = agree.length === 0 ? 'no node shows' : `only ${agree.join(', ')} shows`;
  const denied = deny.length === 0 ? '' : `, ${deny.join(', ')} denies`;
  const as = reason === null ? '' : ` as ${reason}`;
  return {
    kind: 'deposit_unconfirmed',
    subject: depositId(row),
    message: `${shown}${denied} that ${amount} of ${asset} arrived at ${account}${as}: it stays pending`,
    details: { signature, account, asset, amount: amount.toString(), reason, agree, deny },
  };
}

/** Exponential back-off per key in milliseconds. In memory only: a new process tries each key once more. */
export class Backoff<Key> {
  readonly #waits = new Map<Key, { readonly until: number; readonly ms: number }>();
  readonly #firstMs: number;
  readonly #longestMs: number;

  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
  }

  get known(): readonly Key[] {
    return [...this.#waits.keys()];
  }

  /** Keys whose wait is over, the longest waiting first. */
  due(now: number, limit: number): readonly Key[] {
    const due = [...this.#waits].filter(([, { until }]) => until <= now);
    return due
      .toSorted(([, one], [, other]) => one.until - other.until)
      .slice(0, limit)
      .map(([key]) => key);
  }

  /** Backs off the `failed` keys. If a retry succeeded and no key failed, all back-offs are cleared. */
  note(asked: readonly Key[], failed: ReadonlySet<Key>, now: number): void {
    const wasAgain = asked.some((key) => this.#waits.has(key));
    for (const key of asked) {
      const before = this.#waits.get(key);
      this.#waits.delete(key);
      const ms = before === undefined ? this.#firstMs : Math.min(2 * before.ms, this.#longestMs);
      if (failed.has(key)) this.#waits.set(key, { until: now + ms, ms });
    }
    if (wasAgain && failed.size === 0) this.#waits.clear();
  }
}

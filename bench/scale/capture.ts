import pg from 'pg';
import type { Ledger } from '../../src/ledger/ledger.ts';

/** A plan node in the output of `explain (format json)`. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Join Filter'?: string;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** One statement of one call. `name`: the part and method of the ledger, the label of the call, and which statement of it. */
export interface CapturedQuery {
  readonly name: string;
  readonly sql: string;
  readonly plan: PlanNode;
  /** Of each run that was measured; empty where only the plan was asked for. */
  readonly times: readonly number[];
}

interface Explained {
  readonly Plan: PlanNode;
  readonly 'Execution Time'?: number;
}

type RunQuery = (...args: readonly unknown[]) => Promise<pg.QueryResult<Record<string, unknown>>>;

const EXPLAINED = /^\s*\(?\s*(with|select|insert|update|delete)\b/i;

/**
 * Asks PostgreSQL for the plan of every statement of this process just before it is executed, with its parameters and in its
 * transaction. `runs`: how often each is measured, and undone, before.
 */
export class Capture {
  readonly queries: CapturedQuery[] = [];
  /** The methods of the ledger that were called, as `part.method`. */
  readonly called = new Set<string>();
  readonly #runs: number;
  readonly #query = Reflect.get(pg.Client.prototype, 'query') as RunQuery;
  readonly #inTransaction = new WeakSet<object>();
  #name = '';
  #statement = 0;

  constructor(runs: number) {
    this.#runs = runs;
  }

  /** The ledger, with every call to it captured; `label` distinguishes calls of one method. */
  ledger(ledger: Ledger, label: () => string): Ledger {
    const wrapped = (name: string, part: object) =>
      new Proxy(part, {
        get: (target, method) => {
          const value: unknown = Reflect.get(target, method, target);
          if (typeof value !== 'function') return value;
          return (...args: readonly unknown[]): unknown => {
            const called = `${name}.${String(method)}`;
            this.called.add(called);
            this.#name = label() === '' ? called : `${called} ${label()}`;
            this.#statement = 0;
            return Reflect.apply(value, target, args);
          };
        },
      });
    const parts = Object.entries(ledger).map(([name, part]: [string, unknown]) => [
      name,
      typeof part === 'object' && part !== null && name !== 'db' ? wrapped(name, part) : part,
    ]);
    return Object.fromEntries(parts) as Ledger;
  }

  async during(work: () => Promise<void>): Promise<void> {
    const { prototype } = pg.Client;
    const original = this.#query;
    const intercept = (client: object, args: readonly unknown[]) => this.#intercept(client, args);
    Object.defineProperty(prototype, 'query', {
      configurable: true,
      writable: true,
      value: function query(this: object, ...args: readonly unknown[]) {
        return intercept(this, args);
      },
    });
    try {
      await work();
    } finally {
      Object.defineProperty(prototype, 'query', { configurable: true, writable: true, value: original });
    }
  }

  #intercept(client: object, given: readonly unknown[]): unknown {
    const args = withoutName(given);
    const [first, values] = args;
    const run: RunQuery = (...more) => Reflect.apply(this.#query, client, more);
    if (typeof first !== 'string') return Reflect.apply(this.#query, client, args);
    if (/^begin|^start transaction/i.test(first)) this.#inTransaction.add(client);
    if (/^(commit|rollback)$/i.test(first)) this.#inTransaction.delete(client);
    if (this.#name === '' || !EXPLAINED.test(first)) return Reflect.apply(this.#query, client, args);
    this.#statement += 1;
    const name = this.#statement === 1 ? this.#name : `${this.#name} #${this.#statement}`;
    const isOpen = this.#inTransaction.has(client);
    return this.#explain(run, first, values, isOpen).then(({ plan, times }) => {
      this.queries.push({ name, sql: first, plan, times });
      return run(...args);
    });
  }

  async #explain(run: RunQuery, text: string, values: unknown, isOpen: boolean) {
    const times: number[] = [];
    const ask = async (options: string): Promise<Explained> => {
      const { rows } = await run(`explain (${options}, format json) ${text}`, values);
      const [explained] = (rows[0]?.['QUERY PLAN'] ?? []) as readonly Explained[];
      if (explained === undefined) throw new Error(`no plan of: ${text}`);
      return explained;
    };
    let { Plan: plan } = await ask('costs');
    for (let at = 0; at < this.#runs; at += 1) {
      await run(isOpen ? 'savepoint measured' : 'begin');
      const explained = await ask('analyze, buffers');
      await run(isOpen ? 'rollback to savepoint measured' : 'rollback');
      plan = explained.Plan;
      times.push(explained['Execution Time'] ?? 0);
    }
    return { plan, times };
  }
}

/** The tables that a plan reads with a sequential scan. */
export function wholeReads(plan: PlanNode): readonly string[] {
  const own = plan['Node Type'] === 'Seq Scan' ? [plan['Relation Name'] ?? ''] : [];
  return [...own, ...(plan.Plans ?? []).flatMap(wholeReads)];
}

/** A column of another table, as `explain` prints it: that of the table itself has no name before it. */
const OF_THE_OUTER = /[a-z_]+\.[a-z_]+/;

/** The tables of which a plan compares several rows with each row of another one: the product grows with both. */
export function pairwiseReads(plan: PlanNode): readonly string[] {
  const [, inner] = plan.Plans ?? [];
  const own = plan['Join Filter'] === undefined || inner === undefined ? [] : repeatedRead(inner);
  return [...own, ...(plan.Plans ?? []).flatMap(pairwiseReads)];
}

function repeatedRead(inner: PlanNode): readonly string[] {
  const [below] = inner.Plans ?? [];
  if (inner['Node Type'] === 'Materialize' && below !== undefined) return repeatedRead(below);
  const isOne = (inner['Actual Rows'] ?? 0) <= 1 || OF_THE_OUTER.test(inner['Index Cond'] ?? '');
  return isOne || inner['Relation Name'] === undefined ? [] : [inner['Relation Name']];
}

/** Number of rows that an executed plan has read from tables and indexes. */
export function rowsRead(plan: PlanNode): number {
  const isScan = plan['Relation Name'] !== undefined;
  const own = isScan
    ? ((plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0)) * (plan['Actual Loops'] ?? 1)
    : 0;
  return own + (plan.Plans ?? []).reduce((sum, one) => sum + rowsRead(one), 0);
}

/** The arguments of a prepared statement in the form of an unprepared one, so that its text can be explained. */
function withoutName(args: readonly unknown[]): readonly unknown[] {
  const [first, ...rest] = args;
  if (typeof first !== 'object' || first === null || !('name' in first)) return args;
  return 'text' in first && 'values' in first ? [first.text, first.values, ...rest] : args;
}

import { base64 } from '@scure/base';
import pLimit from 'p-limit';
import { leftBy } from '../../domain/balance-changes.ts';
import type { ScannedTransaction } from '../../domain/deposit.ts';
import type {
  ConfirmedOutflow,
  LandedPayment,
  OutflowRow,
  ProvedOutflow,
} from '../../ledger/deposits/outflows.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { transactionIn } from '../../solana/history/denial.ts';
import type { SolanaNode } from '../../solana/rpc/node.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import { decodeMessage } from '../../solana/tx/message.ts';
import { sourceOf } from '../../solana/tx/payment-source.ts';

export interface OutflowDeps {
  readonly ledger: Pick<Ledger, 'outflows'>;
  readonly pool: NodePool;
}

const PAGE = 100;
const AT_ONCE = 4;
/** Milliseconds before nodes without the transaction are asked again. */
const ASKED_AGAIN_MS = 60_000;
const REMEMBERED = 10_000;

/**
 * Confirms outflows by a quorum of nodes, each asked for the transaction itself. Without a quorum the amount of the
 * scanned block counts, and is checked again. A landed payment of ours needs no node: its message proves what it took.
 */
export class OutflowConfirmer {
  readonly #deps: OutflowDeps;
  readonly #asked = new TtlCache<void>(ASKED_AGAIN_MS, REMEMBERED, 'answered');

  constructor(deps: OutflowDeps) {
    this.#deps = deps;
  }

  /** Judges every outflow without a quorum that was not tried recently, until `end`. */
  async witness(end?: AbortSignal): Promise<void> {
    const { outflows } = this.#deps.ledger;
    for (let due = await outflows.unwitnessed(PAGE); due.length > 0 && end?.aborted !== true; ) {
      const asked: OutflowRow[] = [];
      const proved: ProvedOutflow[] = [];
      for (const { row, payment } of due) {
        if (payment === null || !isTakenBy(payment, row)) asked.push(row);
        else proved.push({ row, by: payment.name });
      }
      await outflows.prove(proved);
      await pLimit(AT_ONCE).map(byTransaction(asked), async (group) => {
        if (end?.aborted !== true) await this.#asked.get(nameOf(group), () => this.#judge(group));
      });
      due = await outflows.unwitnessed(PAGE, due.at(-1)?.row);
    }
  }

  async #judge(rows: readonly OutflowRow[]): Promise<void> {
    const { ledger, pool } = this.#deps;
    const agreed = await pool.agreed((node) => shownBy(node, rows), isSameAnswer);
    const { answer = null, nodes: by = [] } = agreed ?? {};
    for (const [row, left] of answer ?? []) await ledger.outflows.witness({ row, ...left, by });
  }
}

/** True if only this account can be the source of the payment, which took exactly that amount of the asset. */
function isTakenBy({ message }: LandedPayment, { account, asset }: OutflowRow): boolean {
  return sourceOf(decodeMessage(base64.decode(message)), asset) === account;
}

/** Outflows of one transaction as one node returns it; null if it cannot tell. */
type NodeOutflows = ReadonlyMap<OutflowRow, NodeOutflow> | null;
type NodeOutflow = Pick<ConfirmedOutflow, 'amount' | 'ownerSigned'>;

async function shownBy(node: SolanaNode, rows: readonly OutflowRow[]): Promise<NodeOutflows> {
  const [said] = rows;
  if (said === undefined) return new Map();
  const shown = await transactionIn(node, said);
  if (shown === 'untold') return null;
  return new Map(rows.map((row) => [row, shown === 'absent' ? NOTHING_LEFT : leftOf(shown, row)]));
}

const NOTHING_LEFT: NodeOutflow = { amount: 0n, ownerSigned: false };

function leftOf(shown: ScannedTransaction, row: OutflowRow): NodeOutflow {
  const ownerSigned = shown.accounts.some(({ address, signer }) => signer && address === row.wallet);
  return { amount: leftBy(shown, row), ownerSigned };
}

function isSameAnswer(one: NodeOutflows, other: NodeOutflows): boolean {
  if (one === null || other === null) return false;
  return [...one].every(([row, { amount, ownerSigned }]) => {
    const left = other.get(row);
    return left?.amount === amount && left.ownerSigned === ownerSigned;
  });
}

function byTransaction(rows: readonly OutflowRow[]): readonly (readonly OutflowRow[])[] {
  const groups = new Map<string, OutflowRow[]>();
  for (const row of rows) {
    const key = `${row.slot}/${row.signature}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()];
}

/** Named by the first row of a page, because a transaction may span two pages. */
function nameOf([first]: readonly OutflowRow[]): string {
  return `${first?.slot}/${first?.signature}/${first?.account}/${first?.asset}`;
}

import { base64 } from '@scure/base';
import pLimit from 'p-limit';
import { leftBy } from '../../domain/balance-changes.ts';
import type { ScannedTransaction } from '../../domain/deposit.ts';
import type {
  LandedPayment,
  OutflowRow,
  ProvedOutflow,
  WitnessedOutflow,
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
/** Nodes that show nothing of a transaction now may do so soon. */
const ASKED_AGAIN_MS = 60_000;
const REMEMBERED = 10_000;

/**
 * The second witness of what left our wallets, as the confirmer is of what came: a quorum of nodes, each asked for the transaction
 * itself. What nobody can tell now counts as the block's node showed it, and is asked for again. A payment of ours that has landed is
 * proved already: nobody is asked for what it was signed to take.
 */
export class OutflowWitness {
  readonly #deps: OutflowDeps;
  readonly #asked = new TtlCache<void>(ASKED_AGAIN_MS, REMEMBERED, 'answered');

  constructor(deps: OutflowDeps) {
    this.#deps = deps;
  }

  /** Judges every outflow that no quorum has shown yet and that was not asked for just now, until `end`. */
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
    const agreed = await pool.agreed((node) => shownBy(node, rows), isSameTold);
    const { answer = null, nodes: by = [] } = agreed ?? {};
    for (const [row, left] of answer ?? []) await ledger.outflows.witness({ row, ...left, by });
  }
}

/** True where the payment, which took just that amount of that asset, can have taken it from nowhere else. */
function isTakenBy({ message }: LandedPayment, { account, asset }: OutflowRow): boolean {
  return sourceOf(decodeMessage(base64.decode(message)), asset) === account;
}

/** What left by one transaction, as one node shows it; null where it cannot tell. */
type Told = ReadonlyMap<OutflowRow, Left> | null;
type Left = Pick<WitnessedOutflow, 'amount' | 'ownerSigned'>;

async function shownBy(node: SolanaNode, rows: readonly OutflowRow[]): Promise<Told> {
  const [said] = rows;
  if (said === undefined) return new Map();
  const shown = await transactionIn(node, said);
  if (shown === 'untold') return null;
  return new Map(rows.map((row) => [row, shown === 'absent' ? NOTHING_LEFT : leftOf(shown, row)]));
}

const NOTHING_LEFT: Left = { amount: 0n, ownerSigned: false };

function leftOf(shown: ScannedTransaction, row: OutflowRow): Left {
  const ownerSigned = shown.accounts.some(({ address, signer }) => signer && address === row.wallet);
  return { amount: leftBy(shown, row), ownerSigned };
}

function isSameTold(one: Told, other: Told): boolean {
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

/** Of the first in a page, where a transaction goes over two. */
function nameOf([first]: readonly OutflowRow[]): string {
  return `${first?.slot}/${first?.signature}/${first?.account}/${first?.asset}`;
}

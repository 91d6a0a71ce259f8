import pLimit from 'p-limit';
import type { Alarm } from '../domain/alerts.ts';
import type { AlertRow } from '../ledger/alerts.ts';
import { depositId } from '../ledger/deposit-id.ts';
import type { DepositRow } from '../ledger/deposit-row.ts';
import type { Confirmation } from '../ledger/deposits.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { fetchTransaction, type ShownTransaction } from '../solana/scan/fetch.ts';
import { addressesOf } from '../solana/scan/searched-block.ts';
import { TtlCache } from '../solana/ttl-cache.ts';
import type { DepositMatcher } from './deposit-matcher.ts';

export interface ConfirmDeps {
  readonly ledger: Ledger;
  readonly pool: NodePool;
  readonly matcher: DepositMatcher;
  /** A deposit that is final for so long and still unconfirmed is an alarm. Default two minutes. */
  readonly patienceMs?: number;
}

/** `agree`: the nodes that show the same arrival; `deny`: those that show the transaction, and another arrival, or none. */
interface Testimony {
  readonly agree: readonly string[];
  readonly deny: readonly string[];
}

const PAGE = 100;
const AT_ONCE = 8;
const PATIENCE_MS = 120_000;
/** Every look asks again; the alert is not written for each of them. */
const RAISED_FOR_MS = 60_000;

/** The second witness: a quorum of nodes, each asked for the transaction itself, must show what the block brought. */
export class DepositConfirmer {
  readonly #deps: ConfirmDeps;
  readonly #raised = new TtlCache<AlertRow>(RAISED_FOR_MS);

  constructor(deps: ConfirmDeps) {
    this.#deps = deps;
  }

  /** Asks about every finalized deposit that is still pending; makes final what a quorum shows. Answers how many became so. */
  async confirm(): Promise<number> {
    const { ledger } = this.#deps;
    let confirmed = 0;
    for (let after = 0n; ; ) {
      const rows = await ledger.deposits.unconfirmed(PAGE, after);
      const last = rows.at(-1);
      if (last === undefined) return confirmed;
      after = last.id;
      const found = await pLimit(AT_ONCE).map(rows, (row) => this.#judge(row));
      confirmed += (await ledger.deposits.confirm(found.flatMap((one) => one ?? []))).length;
    }
  }

  async #judge(row: DepositRow): Promise<Confirmation | null> {
    const { pool, ledger, patienceMs = PATIENCE_MS } = this.#deps;
    const { agree, deny } = await this.#ask(row);
    if (agree.length >= pool.quorum) return { id: row.id, amount: row.amount, by: agree.join(', ') };
    const waitedMs = Date.now() - (row.finalizedAt ?? row.createdAt).getTime();
    if (deny.length > 0 || waitedMs > patienceMs)
      await this.#raised.get(row.id.toString(), () => ledger.alerts.raise(alarmOf(row, { agree, deny })));
    return null;
  }

  async #ask(row: DepositRow): Promise<Testimony> {
    const agree: string[] = [];
    const deny: string[] = [];
    for (const { node, result } of await this.#deps.pool.all((one) => fetchTransaction(one, row.signature))) {
      if (result.status === 'rejected' || result.value === null) continue;
      const told = (await this.#isShown(row, result.value)) ? agree : deny;
      told.push(node);
    }
    return { agree, deny };
  }

  /** What our own terms say of the arrival may have changed since; what the chain says may not. */
  async #isShown(row: DepositRow, { slot, transaction }: ShownTransaction): Promise<boolean> {
    const search = { candidates: addressesOf(transaction), transactions: [transaction] };
    const [finding] = await this.#deps.matcher.findings([search]);
    const inflows = finding?.inflows ?? [];
    return (
      slot === row.slot &&
      inflows.some(
        ({ signature, account, wallet, asset, amount }) =>
          signature === row.signature &&
          account === row.account &&
          wallet === row.wallet &&
          asset === row.asset &&
          amount === row.amount,
      )
    );
  }
}

function alarmOf(row: DepositRow, { agree, deny }: Testimony): Alarm {
  const { signature, asset, amount, account } = row;
  const shown = agree.length === 0 ? 'no node shows' : `only ${agree.join(', ')} shows`;
  const denied = deny.length === 0 ? '' : `, ${deny.join(', ')} denies`;
  return {
    kind: 'deposit_unconfirmed',
    subject: depositId(row),
    message: `${shown}${denied} that ${amount} of ${asset} arrived at ${account}: it stays pending`,
    details: { signature, account, asset, amount: amount.toString(), agree, deny },
  };
}

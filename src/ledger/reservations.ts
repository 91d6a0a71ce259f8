import { sql, type Transaction } from 'kysely';
import { SOL } from '../domain/deposit-asset.ts';
import type { Database, Tables } from './database.ts';

/** One asset that an attempt needs of a wallet. */
export interface Need {
  readonly asset: string;
  /** Everything that may leave: amount, and for SOL also the fee and the rent of accounts to create. */
  readonly amount: bigint;
  /** The wallet's finalized balance at the observed slot. */
  readonly finalizedBalance: bigint;
  /** What must stay, unless the wallet ends at exactly nothing: the rent minimum for SOL, 0 for tokens. */
  readonly keep: bigint;
}

/** What an attempt needs of a wallet, all or nothing. Each asset once. */
export interface ReservationInput {
  readonly wallet: string;
  /** The finalized slot at which the balances were read. */
  readonly observedSlot: bigint;
  readonly needs: readonly Need[];
}

export interface Shortage {
  readonly kind: 'short';
  readonly wallet: string;
  readonly asset: string;
  /** Base units to add before this need can be met. */
  readonly missing: bigint;
}

interface Committed {
  readonly asset: string;
  readonly state: 'open' | 'landed' | 'released';
  readonly amount: bigint;
}

/** Money of our wallets that is promised to settlements. */
export class Reservations {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Base units of `asset` in `wallet` that are promised and not yet known to have left. */
  async open(wallet: string, asset: string): Promise<bigint> {
    const rows = await this.#db
      .selectFrom('reservation')
      .select('amount')
      .where('wallet', '=', wallet)
      .where('asset', '=', asset)
      .where('state', '=', 'open')
      .execute();
    return rows.reduce((sum, row) => sum + row.amount, 0n);
  }

  /** Base units of every asset and wallet together that are promised: 0 exactly where nothing is open. */
  async total(): Promise<bigint> {
    const rows = await this.#db
      .selectFrom('reservation')
      .select('amount')
      .where('state', '=', 'open')
      .execute();
    return rows.reduce((sum, row) => sum + row.amount, 0n);
  }
}

/**
 * Promises the needs to the settlement in place of what it had, or answers what is missing and changes nothing. Available is the
 * finalized balance less what others have open or landed after it was read. Holds the lock of each wallet until the transaction ends,
 * so that two can never promise the same money; all take these locks in one order. The SOL of `feePayer` pays the fee.
 */
export async function reserveFunds(
  trx: Transaction<Tables>,
  settlementId: string,
  inputs: readonly ReservationInput[],
  feePayer: string | undefined,
): Promise<Shortage | null> {
  for (const input of inputs.toSorted((a, b) => (a.wallet < b.wallet ? -1 : 1))) {
    const shortage = await shortageIn(trx, settlementId, input);
    if (shortage !== null) return shortage;
  }
  await releaseReservations(trx, settlementId);
  const rows = inputs.flatMap(({ wallet, needs }) =>
    needs.map(({ asset, amount }) => ({
      settlementId,
      wallet,
      asset,
      paysFee: wallet === feePayer && asset === SOL,
      amount,
      state: 'open' as const,
      slot: null,
    })),
  );
  if (rows.length === 0) return null;
  await trx
    .insertInto('reservation')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['settlementId', 'wallet', 'asset']).doUpdateSet((row) => ({
        paysFee: row.ref('excluded.paysFee'),
        amount: row.ref('excluded.amount'),
        state: row.ref('excluded.state'),
        slot: row.ref('excluded.slot'),
      })),
    )
    .execute();
  return null;
}

/** What is missing for these needs, beside what is promised to all but one settlement, or null. Takes the lock of the wallet. */
async function shortageIn(
  trx: Transaction<Tables>,
  exceptFor: string,
  { wallet, observedSlot, needs }: ReservationInput,
): Promise<Shortage | null> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`sluice/wallet/${wallet}`}, 0))`.execute(trx);
  const committed = await committedBeside(trx, exceptFor, wallet, observedSlot);
  for (const need of needs) {
    const missing = missingOf(need, committed);
    if (missing !== null) return { kind: 'short', wallet, asset: need.asset, missing };
  }
  return null;
}

/** Gives back what the settlement still has open. */
export async function releaseReservations(trx: Transaction<Tables>, settlementId: string): Promise<void> {
  await trx
    .updateTable('reservation')
    .set({ state: 'released' })
    .where('settlementId', '=', settlementId)
    .where('state', '=', 'open')
    .execute();
}

/** What was open has left the wallet in `slot`: balances read before it do not show that yet. */
export async function landReservations(
  trx: Transaction<Tables>,
  settlementId: string,
  slot: bigint,
): Promise<void> {
  await trx
    .updateTable('reservation')
    .set({ state: 'landed', slot })
    .where('settlementId', '=', settlementId)
    .where('state', '=', 'open')
    .execute();
}

/**
 * What is open, or has landed after `observedSlot`, for others than this settlement; and the fees of all attempts that failed after it, which
 * their reservations do not show.
 */
async function committedBeside(
  trx: Transaction<Tables>,
  settlementId: string,
  wallet: string,
  observedSlot: bigint,
): Promise<readonly Committed[]> {
  return trx
    .selectFrom('reservation')
    .select(['asset', 'state'])
    .select((row) => row.fn.sum<bigint>('amount').as('amount'))
    .where('wallet', '=', wallet)
    .where('settlementId', '<>', settlementId)
    .where((row) =>
      row.or([
        row('state', '=', 'open'),
        row.and([row('state', '=', 'landed'), row('slot', '>', observedSlot)]),
      ]),
    )
    .groupBy(['asset', 'state'])
    .unionAll(
      trx
        .selectFrom('attempt')
        .select([sql<string>`${SOL}::text`.as('asset'), sql<'landed'>`'landed'`.as('state')])
        .select((row) => row.fn.coalesce(row.fn.sum<bigint>('feeLamports'), sql<bigint>`0`).as('amount'))
        .where(sql<string>`signers[1]`, '=', wallet)
        .where('state', '=', 'failed')
        .where('slot', '>', observedSlot),
    )
    .execute();
}

/** Null where nothing is missing. */
function missingOf(need: Need, committed: readonly Committed[]): bigint | null {
  const others = committed.filter((one) => one.asset === need.asset);
  const available = others.reduce((rest, one) => rest - one.amount, need.finalizedBalance);
  const left = available - need.amount;
  // Emptying the wallet is safe only when nothing else is on its way: any other order of landing would strand it below `keep`.
  const empties = left === 0n && !others.some((one) => one.state === 'open');
  return left >= need.keep || empties ? null : need.keep - left;
}

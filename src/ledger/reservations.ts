import { sql, type Transaction } from 'kysely';
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

/** What an attempt needs of its wallet, all or nothing. Each asset once. */
export interface ReservationInput {
  readonly wallet: string;
  /** The finalized slot at which the balances were read. */
  readonly observedSlot: bigint;
  readonly needs: readonly Need[];
}

export interface Shortage {
  readonly kind: 'short';
  readonly asset: string;
  /** Base units to add before this need can be met. */
  readonly missing: bigint;
}

interface Committed {
  readonly asset: string;
  readonly state: 'open' | 'landed' | 'released';
  readonly amount: bigint;
}

/** Money of our wallets that is promised to withdrawals. */
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
 * Promises the needs to the withdrawal in place of what it had, or answers what is missing and changes nothing. Available is the
 * finalized balance less what others have open or landed after it was read. Holds the wallet's lock until the transaction ends,
 * so that two can never promise the same money.
 */
export async function reserveFunds(
  trx: Transaction<Tables>,
  withdrawalId: string,
  input: ReservationInput,
): Promise<Shortage | null> {
  const { wallet, needs } = input;
  const shortage = await shortageIn(trx, withdrawalId, input);
  if (shortage !== null) return shortage;
  await releaseReservations(trx, withdrawalId);
  const rows = needs.map(({ asset, amount }) => ({
    withdrawalId,
    wallet,
    asset,
    amount,
    state: 'open' as const,
    slot: null,
  }));
  await trx
    .insertInto('reservation')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['withdrawalId', 'wallet', 'asset']).doUpdateSet((row) => ({
        amount: row.ref('excluded.amount'),
        state: row.ref('excluded.state'),
        slot: row.ref('excluded.slot'),
      })),
    )
    .execute();
  return null;
}

/**
 * What is missing for these needs, beside what is promised to all but one withdrawal (null: to all), or null. Holds the wallet's lock
 * until the transaction ends.
 */
export async function shortageIn(
  trx: Transaction<Tables>,
  exceptFor: string | null,
  { wallet, observedSlot, needs }: ReservationInput,
): Promise<Shortage | null> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`sluice/wallet/${wallet}`}, 0))`.execute(trx);
  const committed = [
    ...(await committedToOthers(trx, exceptFor ?? '', wallet, observedSlot)),
    ...(await committedToUpkeep(trx, wallet, observedSlot)),
  ];
  for (const need of needs) {
    const shortage = shortageOf(need, committed);
    if (shortage !== null) return shortage;
  }
  return null;
}

/** Gives back what the withdrawal still has open. */
export async function releaseReservations(trx: Transaction<Tables>, withdrawalId: string): Promise<void> {
  await trx
    .updateTable('reservation')
    .set({ state: 'released' })
    .where('withdrawalId', '=', withdrawalId)
    .where('state', '=', 'open')
    .execute();
}

/** What was open has left the wallet in `slot`: balances read before it do not show that yet. */
export async function landReservations(
  trx: Transaction<Tables>,
  withdrawalId: string,
  slot: bigint,
): Promise<void> {
  await trx
    .updateTable('reservation')
    .set({ state: 'landed', slot })
    .where('withdrawalId', '=', withdrawalId)
    .where('state', '=', 'open')
    .execute();
}

/** A failed transaction has cost its fee in `slot` and nothing else. */
export async function landFee(
  trx: Transaction<Tables>,
  withdrawalId: string,
  slot: bigint,
  feeLamports: bigint,
): Promise<void> {
  await trx
    .updateTable('reservation')
    .set({ state: 'landed', slot, amount: feeLamports })
    .where('withdrawalId', '=', withdrawalId)
    .where('asset', '=', 'SOL')
    .where('state', '=', 'open')
    .execute();
  await releaseReservations(trx, withdrawalId);
}

async function committedToOthers(
  trx: Transaction<Tables>,
  withdrawalId: string,
  wallet: string,
  observedSlot: bigint,
): Promise<readonly Committed[]> {
  return trx
    .selectFrom('reservation')
    .select(['asset', 'state'])
    .select((row) => row.fn.sum<bigint>('amount').as('amount'))
    .where('wallet', '=', wallet)
    .where('withdrawalId', '<>', withdrawalId)
    .where((row) =>
      row.or([
        row('state', '=', 'open'),
        row.and([row('state', '=', 'landed'), row('slot', '>', observedSlot)]),
      ]),
    )
    .groupBy(['asset', 'state'])
    .execute();
}

/** What making and advancing nonce accounts takes of the wallet. */
async function committedToUpkeep(
  trx: Transaction<Tables>,
  wallet: string,
  observedSlot: bigint,
): Promise<readonly Committed[]> {
  const rows = await trx
    .selectFrom('nonceUpkeep')
    .select(['feeLamports', 'rentLamports', 'slot'])
    .where('wallet', '=', wallet)
    .where((row) =>
      row.or([
        row('state', 'in', ['prepared', 'signed']),
        row.and([row('state', 'in', ['landed', 'failed']), row('slot', '>', observedSlot)]),
      ]),
    )
    .execute();
  return rows.map(({ feeLamports, rentLamports, slot }) => ({
    asset: 'SOL',
    state: slot === null ? 'open' : 'landed',
    amount: feeLamports + rentLamports,
  }));
}

function shortageOf(need: Need, committed: readonly Committed[]): Shortage | null {
  const others = committed.filter((one) => one.asset === need.asset);
  const available = others.reduce((rest, one) => rest - one.amount, need.finalizedBalance);
  const left = available - need.amount;
  // Emptying the wallet is safe only when nothing else is on its way: any other order of landing would strand it below `keep`.
  const empties = left === 0n && !others.some((one) => one.state === 'open');
  if (left >= need.keep || empties) return null;
  return { kind: 'short', asset: need.asset, missing: need.keep - left };
}

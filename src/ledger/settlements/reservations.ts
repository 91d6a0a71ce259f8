import { sql } from 'kysely';
import { SOL } from '../../domain/deposit-asset.ts';
import type { RowOf, Trx } from '../database.ts';

/** The amount of one asset that an attempt needs in a wallet. */
export interface Need {
  readonly asset: string;
  /** The maximum that may leave: the amount, and for SOL also the fee and the rent of new accounts. */
  readonly amount: bigint;
  /** The wallet's finalized balance at the observed slot. */
  readonly finalizedBalance: bigint;
  /** Minimum that must remain unless the wallet ends at exactly 0: the rent-exempt minimum for SOL, 0 for tokens. */
  readonly keep: bigint;
}

/** What an attempt needs in one wallet, reserved completely or not at all. Each asset appears once. */
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
  /** Base units that must be added to the wallet before this need can be met. */
  readonly missing: bigint;
}

/**
 * The amount of an asset in a wallet that is not available: open reservations, plus payments that landed and fees of
 * attempts that failed after the balance was read.
 */
type CommittedAmount = Omit<RowOf<'reserved'>, 'part'>;

/** Thrown to roll back the transaction. */
export class ShortageError extends Error {
  readonly shortage: Shortage;

  constructor(shortage: Shortage) {
    super(`${shortage.missing} base units of ${shortage.asset} are missing in ${shortage.wallet}`);
    this.shortage = shortage;
  }
}

export interface Reserver {
  readonly settlementId: string;
  /** True for the first attempt of the settlement, which has no earlier reservation. */
  readonly isFirst: boolean;
}

/**
 * Replaces the settlement's reservation. The available balance is the finalized balance minus what other settlements
 * have reserved, or have spent after it was read. The wallet locks last until the transaction ends, so that the same
 * funds are never reserved twice. Take them last in a transaction, so that they are held for few statements. Throws
 * ShortageError.
 */
export async function reserveFunds(
  trx: Trx,
  { settlementId, isFirst }: Reserver,
  inputs: readonly ReservationInput[],
): Promise<void> {
  await lockWallets(trx, settlementId, inputs);
  const committed = await committedByOthers(trx, settlementId, inputs);
  for (const { wallet, needs } of inputs) {
    const others = committed.filter((entry) => entry.wallet === wallet);
    for (const need of needs) {
      const missing = missingOf(need, others);
      if (missing !== null) throw new ShortageError({ kind: 'short', wallet, asset: need.asset, missing });
    }
  }
  if (!isFirst) {
    await lockSums(trx, settlementId, inputs);
    await releaseReservations(trx, settlementId);
  }
  const rows = inputs.flatMap(({ wallet, needs }) =>
    needs.map(({ asset, amount }) => ({
      settlementId,
      wallet,
      asset,
      amount,
      state: 'open' as const,
      slot: null,
    })),
  );
  if (rows.length === 0) return;
  await trx
    .insertInto('reservation')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['settlementId', 'wallet', 'asset']).doUpdateSet((row) => ({
        amount: row.ref('excluded.amount'),
        state: row.ref('excluded.state'),
        slot: row.ref('excluded.slot'),
      })),
    )
    .execute();
}

/**
 * Locks the wallets of the new and the old reservation in one order, so that two settlements that name the same
 * wallets cannot deadlock.
 */
async function lockWallets(
  trx: Trx,
  settlementId: string,
  inputs: readonly ReservationInput[],
): Promise<void> {
  const wallets = inputs.map(({ wallet }) => wallet);
  await sql`select pg_advisory_xact_lock(hashtextextended('sluice/wallet/' || wallet, 0)) from (
    select unnest(${wallets}::text[]) as wallet
    union select wallet from reservation where settlement_id = ${settlementId} and state = 'open'
    order by wallet) named`.execute(trx);
}

/**
 * Locks the sums of the old and the new wallets, which the next two statements change, in the order in which the
 * triggers lock them.
 */
async function lockSums(trx: Trx, settlementId: string, inputs: readonly ReservationInput[]): Promise<void> {
  const wallets = inputs.map(({ wallet }) => wallet);
  await sql`select from reserved where part = reserved_part(${settlementId}) and wallet = any(array(
    select unnest(${wallets}::text[])
    union select wallet from reservation where settlement_id = ${settlementId} and state = 'open'))
    order by wallet, asset for update`.execute(trx);
}

export async function releaseReservations(trx: Trx, settlementId: string): Promise<void> {
  await updateOpen(trx, settlementId).set({ state: 'released' }).execute();
}

/** Marks the open reservations as spent in `slot`: a balance that was read at an earlier slot still contains them. */
export async function landReservations(trx: Trx, settlementId: string, slot: bigint): Promise<void> {
  await updateOpen(trx, settlementId).set({ state: 'landed', slot }).execute();
}

function updateOpen(trx: Trx, settlementId: string) {
  return trx.updateTable('reservation').where('settlementId', '=', settlementId).where('state', '=', 'open');
}

/**
 * What other settlements have reserved, plus the fees of attempts that failed after the balance was read. Triggers
 * maintain the sums, so the cost does not depend on the number of open reservations. One statement reads everything,
 * so that the sum and the landed payments are of one snapshot. The settlement's own rows are selected by its id only:
 * with the wallet as well, a plan from old statistics can read all open rows of the wallet.
 */
async function committedByOthers(
  trx: Trx,
  settlementId: string,
  inputs: readonly ReservationInput[],
): Promise<readonly CommittedAmount[]> {
  const wallets = inputs.map(({ wallet }) => wallet);
  const slots = inputs.map(({ observedSlot }) => observedSlot.toString());
  const { rows } = await sql<CommittedAmount>`
    with observed as (select * from unnest(${wallets}::text[], ${slots}::bigint[]) as observed (wallet, slot))
    select wallet, asset, sum(amount) as amount, sum(open)::bigint as open from (
      select wallet, asset, amount, open from reserved where wallet = any(${wallets}::text[])
      union all
      select wallet, asset, -amount, -1 from reservation where settlement_id = ${settlementId} and state = 'open'
      union all
      select landed.wallet, landed.asset, landed.amount, 0
        from observed join reservation landed on landed.wallet = observed.wallet and landed.slot > observed.slot
          and landed.state = 'landed' and landed.settlement_id <> ${settlementId}
      union all
      select observed.wallet, ${SOL}, failed.fee_lamports, 0
        from observed join attempt failed on failed.signers[1] = observed.wallet and failed.slot > observed.slot
          and failed.state = 'failed'
    ) committed group by wallet, asset`.execute(trx);
  return rows;
}

function missingOf(need: Need, committed: readonly CommittedAmount[]): bigint | null {
  const others = committed.find((entry) => entry.asset === need.asset) ?? { amount: 0n, open: 0n };
  const remaining = need.finalizedBalance - others.amount - need.amount;
  // The wallet may be emptied only if no other reservation is open: if the transactions landed in another order, too
  // little would stay.
  const isEmptied = remaining === 0n && others.open === 0n;
  return remaining >= need.keep || isEmptied ? null : need.keep - remaining;
}

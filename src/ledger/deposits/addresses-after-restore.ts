import { type Selectable, sql, type Transaction } from 'kysely';
import { WHOLE } from '../../domain/alerts.ts';
import type { DepositAddressState } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Tables } from '../database.ts';
import { closeAlerts, raiseAlert } from '../operations/alerts.ts';

/**
 * After a restore, an address without a user may belong to one. `continuity.doubtful_up_to` marks all addresses up
 * to a position at once; addresses imported as kept back have their own state.
 */

const DOUBTFUL = 'addresses_doubtful' as const;
const RELEASED_AT_ONCE = 20_000;
const UP_TO = sql<bigint>`coalesce((select doubtful_up_to from continuity), 0)`;

/** True if no restore can have lost the user of a `deposit_address`. */
export const IS_SURE = sql<boolean>`deposit_address.position > ${UP_TO}`;

/** State of a `deposit_address`, with `doubtful` for those that a restore made unsure. */
export const STATE = sql<DepositAddressState>`case when deposit_address.state in ('auditing', 'free') and not ${IS_SURE}
  then 'doubtful' else deposit_address.state end`;

/** Holds back every address without a user: users may have them in the newer database that this backup replaced. */
export async function doubtFree(trx: Transaction<Tables>): Promise<void> {
  const { any, upTo } = await trx
    .selectNoFrom([
      sql<boolean>`exists (select 1 from deposit_address where state = 'free')
        or exists (select 1 from deposit_address where audit_due and state = 'auditing')`.as('any'),
      sql<bigint>`coalesce((select max(position) from deposit_address), 0)`.as('upTo'),
    ])
    .executeTakeFirstOrThrow();
  if (!any) return;
  await trx.updateTable('continuity').set({ doubtfulUpTo: upTo }).execute();
  const message = `the record was restored: users may have some of the deposit addresses that nobody has in it, up to position ${upTo}. Import new ones; release these only if no address was given out after the backup`;
  await raiseAlert(trx, { kind: DOUBTFUL, subject: WHOLE, message, details: { upTo: upTo.toString() } });
}

/**
 * Releases all doubtful addresses. Returns how many can be assigned, now or after their audit. Idempotent. Throws
 * RecordInDoubt if the database was restored meanwhile: those addresses stay doubtful.
 */
export async function releaseDoubtful(db: Database, actor: string, reason: string): Promise<number> {
  const doubt = await db.selectFrom('continuity').select(['generation', 'doubtfulUpTo']).executeTakeFirst();
  const released = (await countDoubtful(db)) + (await releaseKeptBack(db));
  await db.transaction().execute(async (trx) => {
    if (doubt !== undefined) await endDoubt(trx, doubt);
    if (released > 0) {
      const message = `${actor} released ${released} addresses that were in doubt: ${reason}`;
      await raiseAlert(trx, {
        kind: DOUBTFUL,
        subject: WHOLE,
        message,
        details: { released, actor, reason },
      });
    }
    await closeAlerts(trx, (row) => row('kind', '=', DOUBTFUL));
  });
  return released;
}

async function endDoubt(
  trx: Transaction<Tables>,
  { generation, doubtfulUpTo }: Pick<Selectable<Tables['continuity']>, 'generation' | 'doubtfulUpTo'>,
): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('continuity')
    .set({ doubtfulUpTo: 0n })
    .where('generation', '=', generation)
    .where('doubtfulUpTo', '=', doubtfulUpTo)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n) return;
  const message = 'the record was restored meanwhile: users may have what nobody has in it now. Look again';
  throw new DomainError('RecordInDoubt', message);
}

async function countDoubtful(db: Database): Promise<number> {
  const { doubted } = await db
    .selectNoFrom(
      sql<bigint>`(select count(*) from deposit_address where state = 'free' and not ${IS_SURE})
        + (select count(*) from deposit_address where audit_due and state = 'auditing' and not ${IS_SURE})`.as(
        'doubted',
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(doubted);
}

/** Updates in batches, so that no statement exceeds its timeout. */
async function releaseKeptBack(db: Database): Promise<number> {
  for (let released = 0; ; ) {
    const some = db
      .selectFrom('depositAddress')
      .select('address')
      .where('state', '=', 'doubtful')
      .orderBy('position')
      .limit(RELEASED_AT_ONCE);
    const { numUpdatedRows } = await db
      .updateTable('depositAddress')
      .set({ state: sql<'auditing' | 'free'>`case when audit_due then 'auditing' else 'free' end` })
      .where('address', 'in', some)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) return released;
    released += Number(numUpdatedRows);
  }
}

import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { Repository, type RowOf, type Trx } from '../database.ts';

/** An asset that may be deposited: `SOL` (program null) or a mint. `minimumDeposit` in base units. */
export type AssetRow = RowOf<'asset'>;

export type NewAsset = Omit<AssetRow, 'createdAt' | 'updatedAt' | keyof IssuerKeys> & Partial<IssuerKeys>;

/** Authorities over the tokens of every holder; null if the mint has none. */
type IssuerKeys = Pick<AssetRow, 'freezeAuthority' | 'permanentDelegate'>;

/** Listed assets, by `SOL` or mint. Symbols are never used: any mint can have any name. */
export class Assets extends Repository {
  async get(asset: string): Promise<AssetRow | undefined> {
    return this.db.selectFrom('asset').selectAll().where('asset', '=', asset).executeTakeFirst();
  }

  /** SOL first, then mints in the order in which they were listed. */
  async list(): Promise<readonly AssetRow[]> {
    return this.db
      .selectFrom('asset')
      .selectAll()
      .orderBy(sql`program is not null`)
      .orderBy('createdAt')
      .orderBy('asset')
      .execute();
  }

  /**
   * Lists the asset, or changes it to the terms that `change` returns for the stored ones, under the row's lock.
   * Throws what `change` throws, and InvalidRequest for another program or decimals: no mint changes them.
   */
  async put(asset: NewAsset, change: (known: NewAsset) => NewAsset = () => asset): Promise<AssetRow> {
    return this.db.transaction().execute(async (trx) => {
      const { minimumDeposit, depositsOn } = change(await listed(trx, asset));
      return trx
        .updateTable('asset')
        .set({ minimumDeposit, depositsOn, updatedAt: sql<Date>`now()` })
        .where('asset', '=', asset.asset)
        .returningAll()
        .executeTakeFirstOrThrow();
    });
  }
}

/** The locked row of the asset, with the extensions and authorities that the chain has now. */
async function listed(
  trx: Trx,
  { extensions, freezeAuthority = null, permanentDelegate = null, ...asset }: NewAsset,
): Promise<AssetRow> {
  const row = await trx
    .insertInto('asset')
    .values({ ...asset, freezeAuthority, permanentDelegate, extensions: JSON.stringify(extensions) })
    .onConflict((conflict) =>
      conflict
        .column('asset')
        .doUpdateSet((row) => ({
          extensions: row.ref('excluded.extensions'),
          freezeAuthority: row.ref('excluded.freezeAuthority'),
          permanentDelegate: row.ref('excluded.permanentDelegate'),
        }))
        .where('asset.program', 'is not distinct from', asset.program)
        .where('asset.decimals', '=', asset.decimals),
    )
    .returningAll()
    .executeTakeFirst();
  if (row !== undefined) return row;
  const message = `${asset.asset} is already listed with another program or other decimals`;
  throw new DomainError('InvalidRequest', message, { field: 'asset', asset: asset.asset });
}

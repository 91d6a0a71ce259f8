import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { Repository, type RowOf, type Trx } from '../database.ts';

/** An asset that can be deposited: `SOL` (`program` is null) or a mint. `minimumDeposit` is in base units. */
export type AssetRow = RowOf<'asset'>;

export type NewAsset = Omit<AssetRow, 'createdAt' | 'updatedAt' | keyof IssuerAuthorities> &
  Partial<IssuerAuthorities>;

/** Authorities of a mint over the tokens of every holder; null if the mint has none. */
type IssuerAuthorities = Pick<AssetRow, 'freezeAuthority' | 'permanentDelegate'>;

/**
 * Listed assets, identified as `SOL` or by mint address. Symbols are not used, because any mint can claim any symbol.
 */
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
   * Lists the asset, or updates the stored one. `change` gets the stored terms, under the row's lock, and returns the
   * new ones. Throws what `change` throws, and InvalidRequest if the program or decimals differ from the stored ones:
   * a mint cannot change them.
   */
  async put(asset: NewAsset, change: (known: NewAsset) => NewAsset = () => asset): Promise<AssetRow> {
    return this.db.transaction().execute(async (trx) => {
      const { minimumDeposit, depositsOn } = change(await lockListed(trx, asset));
      return trx
        .updateTable('asset')
        .set({ minimumDeposit, depositsOn, updatedAt: sql<Date>`now()` })
        .where('asset', '=', asset.asset)
        .returningAll()
        .executeTakeFirstOrThrow();
    });
  }
}

/**
 * Returns the locked row of the asset, inserted if it was missing, with the current extensions and authorities of the
 * mint.
 */
async function lockListed(
  trx: Trx,
  { extensions, freezeAuthority = null, permanentDelegate = null, ...asset }: NewAsset,
): Promise<AssetRow> {
  const row = await trx
    .insertInto('asset')
    .values({ ...asset, freezeAuthority, permanentDelegate, extensions: JSON.stringify(extensions) })
    .onConflict((conflict) =>
      conflict
        .column('asset')
        .doUpdateSet((columns) => ({
          extensions: columns.ref('excluded.extensions'),
          freezeAuthority: columns.ref('excluded.freezeAuthority'),
          permanentDelegate: columns.ref('excluded.permanentDelegate'),
        }))
        .where('asset.program', 'is not distinct from', asset.program)
        .where('asset.decimals', '=', asset.decimals),
    )
    .returningAll()
    .executeTakeFirst();
  if (row !== undefined) return row;
  const message = `asset ${asset.asset} is already listed with a different program or number of decimals`;
  throw new DomainError('InvalidRequest', message, { field: 'asset', asset: asset.asset });
}

import { createHash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { Repository, type RowOf } from '../database.ts';

/** What callers with a key of the facilitator may do. */
export interface FacilitatorLimits {
  /** Addresses of mints; null: any mint. */
  readonly mints: readonly string[] | null;
  /** Wallets that may be paid; null: any wallet. */
  readonly payTos: readonly string[] | null;
  /** Maximum fees per hour, in lamports; null: the configured budget of a caller. */
  readonly lamportsPerHour: bigint | null;
}

export interface FacilitatorKey extends FacilitatorLimits {
  readonly name: string;
}

const NO_LIMITS: FacilitatorLimits = { mints: null, payTos: null, lamportsPerHour: null };

type ListedKey = Omit<RowOf<'apiKey'>, 'hash'>;

export function newApiKey(): string {
  return `sluice_${randomBytes(32).toString('base64url')}`;
}

/**
 * Keys by name, of two kinds: keys of the API, and keys of the facilitator. A key of one kind is unknown to the other
 * service. Only the SHA-256 of a key is stored.
 */
export class ApiKeys extends Repository {
  /**
   * Stores a key of the API, and replaces an earlier one of that name, unless `replace` is false. Returns whether the key
   * is stored.
   */
  add(name: string, key: string, { replace = true } = {}): Promise<boolean> {
    return this.#put({ name, hash: sha256(key), kind: 'api', ...NO_LIMITS }, replace);
  }

  /** As {@link add}, for a key of the facilitator. */
  addFacilitatorKey(
    name: string,
    key: string,
    limits: Partial<FacilitatorLimits> = {},
    { replace = true } = {},
  ): Promise<boolean> {
    return this.#put({ name, hash: sha256(key), kind: 'facilitator', ...NO_LIMITS, ...limits }, replace);
  }

  /** The name of a key of the API; null if the API does not know the key. */
  async nameOf(key: string): Promise<string | null> {
    return (await this.#find(key, 'api'))?.name ?? null;
  }

  /** A key of the facilitator; null if the facilitator does not know the key. */
  async facilitatorKey(key: string): Promise<FacilitatorKey | null> {
    return (await this.#find(key, 'facilitator')) ?? null;
  }

  list(): Promise<readonly ListedKey[]> {
    return this.db.selectFrom('apiKey').select(LISTED).orderBy('name').execute();
  }

  /** Deletes the key, which is unknown from then on. Throws NotFound. */
  async revoke(name: string): Promise<void> {
    const { numDeletedRows } = await this.db.deleteFrom('apiKey').where('name', '=', name).executeTakeFirst();
    if (numDeletedRows === 0n) throw new DomainError('NotFound', `there is no key ${name}`, { name });
  }

  /** The unique hash of a key has 256 bits, so the time of this query does not help to guess a key. */
  #find(key: string, kind: ListedKey['kind']): Promise<ListedKey | undefined> {
    return this.db
      .selectFrom('apiKey')
      .select(LISTED)
      .where('hash', '=', sha256(key))
      .where('kind', '=', kind)
      .executeTakeFirst();
  }

  /** A name keeps its kind, because replacing a key of the other kind would take a right from its holder. */
  async #put(key: Omit<RowOf<'apiKey'>, 'createdAt'>, replace: boolean): Promise<boolean> {
    const { name, kind, ...replaced } = key;
    const stored = await this.db
      .insertInto('apiKey')
      .values(key)
      .onConflict((conflict) => {
        const sameName = conflict.column('name');
        if (!replace) return sameName.doNothing();
        return sameName
          .doUpdateSet({ ...replaced, createdAt: CREATED_NOW_IF_NEW })
          .where('apiKey.kind', '=', kind);
      })
      .returning('name')
      .executeTakeFirst();
    if (stored === undefined && replace)
      throw new DomainError(
        'InvalidRequest',
        `${name} is a key of the other kind: choose another name, or revoke it`,
      );
    return stored !== undefined;
  }
}

/** The API stores the key of its environment at each start. */
const CREATED_NOW_IF_NEW = sql<Date>`case when api_key.hash = excluded.hash then api_key.created_at else now() end`;
const LISTED = ['name', 'kind', 'createdAt', 'mints', 'payTos', 'lamportsPerHour'] as const;

function sha256(key: string): string {
  return createHash('sha256').update(key, 'utf8').digest('hex');
}

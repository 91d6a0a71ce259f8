import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { type RoutesHeads, type RoutesVersionHead, routesStep } from '../../domain/route-versions.ts';
import type { TextCipher } from '../../domain/webhook.ts';
import { type Database, Repository, type RowOf, type Trx } from '../database.ts';
import { type Page, type PageRequest, positionBefore, readPage } from '../page.ts';

/** A version without its content. */
export type RoutesVersion = Omit<RowOf<'routesVersion'>, 'content'>;

/** `content` is that of a routes file. */
export type RoutesVersionWithContent = RoutesVersion & { readonly content: object };

/** `start` and `reload`: the content is that of the routes file of a gateway. `put`: see `RoutesRequest`. */
export type NewRoutes = OperatorNote & { readonly content: object } & (
    | { readonly kind: 'start' | 'reload' }
    | { readonly kind: 'put'; readonly expected: bigint }
  );

const COLUMNS = ['position', 'source', 'hash', 'actor', 'reason', 'createdAt'] as const;

/** Versions of the x402 routes. Every gateway sells the newest one. */
export class RouteVersions extends Repository {
  readonly #cipher: TextCipher;

  constructor(db: Database, cipher: TextCipher) {
    super(db);
    this.#cipher = cipher;
  }

  /** The newest version, without a lock. Null if there is none. */
  async head(): Promise<RoutesVersionHead | null> {
    return (await newestOf(this.db)) ?? null;
  }

  /** The newest version, and those that were the newest one within the last `days`, newest first. */
  async recent(days: number): Promise<readonly RoutesVersionWithContent[]> {
    const first = this.db
      .selectFrom('routesVersion')
      .select('position')
      .where('createdAt', '<', sql<Date>`now() - ${days} * interval '1 day'`)
      .orderBy('position', 'desc')
      .limit(1);
    const rows = await this.db
      .selectFrom('routesVersion')
      .selectAll()
      .where('position', '>=', sql<bigint>`coalesce(${first}, 0)`)
      .orderBy('position', 'desc')
      .execute();
    return rows.map((row) => this.#withContent(row));
  }

  list(page: PageRequest): Promise<Page<RoutesVersion>> {
    const all = this.db.selectFrom('routesVersion').select(COLUMNS).orderBy('position', 'desc');
    return readPage(all.where('position', '<', positionBefore(page)), page);
  }

  /** The version with this position, or the newest one. Throws NotFound. */
  async get(position: bigint | null): Promise<RoutesVersionWithContent> {
    const all = this.db.selectFrom('routesVersion').selectAll().orderBy('position', 'desc').limit(1);
    const row = await (position === null ? all : all.where('position', '=', position)).executeTakeFirst();
    if (row !== undefined) return this.#withContent(row);
    const version = position === null ? 'no version of the routes' : `no version ${position} of the routes`;
    throw new DomainError('NotFound', `there is ${version}`);
  }

  /**
   * Makes the routes the newest version, if {@link routesStep} permits it. Returns the newest version. Throws
   * VersionConflict if another version than `expected` is the newest one.
   */
  async publish({ content, actor, reason, ...request }: NewRoutes): Promise<RoutesVersion> {
    const text = JSON.stringify(content);
    const hash = createHash('sha256').update(text).digest('hex');
    return this.db.transaction().execute(async (trx) => {
      const heads = await lockHeads(trx);
      const step = routesStep(heads, { ...request, hash });
      const position = heads.newest?.position ?? 0n;
      if (step === 'conflict') throw conflict(position);
      const rows = trx.selectFrom('routesVersion').select(COLUMNS);
      if (step === 'keep') return rows.where('position', '=', position).executeTakeFirstOrThrow();
      const next = position + 1n;
      const source = request.kind === 'put' ? ('api' as const) : ('file' as const);
      const encrypted = this.#cipher.encrypt(text, cipherContext(next));
      const values = { position: next, source, content: encrypted, hash, actor, reason };
      return trx.insertInto('routesVersion').values(values).returning(COLUMNS).executeTakeFirstOrThrow();
    });
  }

  #withContent({ content, ...row }: RowOf<'routesVersion'>): RoutesVersionWithContent {
    const text = this.#cipher.decrypt(content, cipherContext(row.position));
    return { ...row, content: JSON.parse(text) as object };
  }
}

function conflict(newest: bigint): DomainError {
  const message = `version ${newest} of the routes is the newest one: read it, and send your change with expectedVersion ${newest}`;
  return new DomainError('VersionConflict', message, { version: newest.toString() });
}

function cipherContext(position: bigint): string {
  return `x402-routes/${position}`;
}

/** Takes the lock of publications, and reads what they depend on in later statements. */
async function lockHeads(trx: Trx): Promise<RoutesHeads> {
  await sql`select pg_advisory_xact_lock(hashtextextended('sluice/x402-routes', 0))`.execute(trx);
  const [newest, newestOfFile] = [await newestOf(trx), await newestOf(trx, 'file')];
  return { newest: newest ?? null, newestOfFile: newestOfFile ?? null };
}

function newestOf(db: Database, source?: 'file'): Promise<RoutesVersionHead | undefined> {
  const all = db
    .selectFrom('routesVersion')
    .select(['position', 'hash'])
    .orderBy('position', 'desc')
    .limit(1);
  return (source === undefined ? all : all.where('source', '=', source)).executeTakeFirst();
}

import type { Selectable } from 'kysely';
import { DomainError } from '../domain/errors.ts';
import type { NonceUpkeepRequest } from '../domain/steps.ts';
import type { AttemptOutcome } from './attempts.ts';
import type { Database, Tables } from './database.ts';
import { type ReservationInput, type Shortage, shortageIn } from './reservations.ts';
import { toJson } from './to-json.ts';

/** One transaction that makes or advances a nonce account; fields as those of an attempt. */
export type NonceUpkeepRow = Readonly<Selectable<Tables['nonceUpkeep']>>;

export type NewNonceUpkeep = Omit<
  NonceUpkeepRow,
  'state' | 'signature' | 'raw' | 'slot' | 'error' | 'proof' | 'createdAt'
>;

const LIVE = ['prepared', 'signed'] as const;

/** Transactions for nonce accounts: on record before they are signed, as everything that the hot wallet signs. */
export class NonceUpkeeps {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Writes it, where the wallet has the money, or answers what is missing. One that is on its way for the account is returned instead. */
  async prepare(input: NewNonceUpkeep, needs: ReservationInput): Promise<NonceUpkeepRow | Shortage> {
    return this.#db.transaction().execute(async (trx) => {
      const shortage = await shortageIn(trx, null, needs);
      const live = await liveIn(trx, input.address);
      if (live !== undefined) return live;
      if (shortage !== null) return shortage;
      return trx
        .insertInto('nonceUpkeep')
        .values({ ...input, state: 'prepared' })
        .returningAll()
        .executeTakeFirstOrThrow();
    });
  }

  /** The one that is on its way for the account. */
  async live(address: string): Promise<NonceUpkeepRow | undefined> {
    return liveIn(this.#db, address);
  }

  /**
   * What is still to be done for accounts of the wallet: transactions on their way, accounts that were never made, and nonces that must
   * be used up before a gap in the record ends.
   */
  async unfinished(wallet: string): Promise<readonly NonceUpkeepRequest[]> {
    const live = await this.#db
      .selectFrom('nonceUpkeep')
      .select(['kind', 'address', 'blockhash as nonce'])
      .where('wallet', '=', wallet)
      .where('state', 'in', LIVE)
      .execute();
    const lost = await this.#db
      .selectFrom('lostNonce')
      .innerJoin('nonceAccount', 'nonceAccount.address', 'lostNonce.address')
      .select(['lostNonce.address', 'lostNonce.nonce'])
      .where('authority', '=', wallet)
      .execute();
    const advances = lost.map((one) => ({ ...one, kind: 'advance' as const }));
    return [...[...live, ...advances].map(requestOf), ...(await this.#unmade(wallet))];
  }

  async #unmade(wallet: string): Promise<readonly NonceUpkeepRequest[]> {
    const rows = await this.#db
      .selectFrom('nonceAccount')
      .select('address')
      .where('authority', '=', wallet)
      .where('state', '=', 'unproved')
      .where('nonce', 'is', null)
      .where('address', 'not in', (row) =>
        row.selectFrom('nonceUpkeep').select('nonceUpkeep.address').where('nonceUpkeep.state', '<>', 'dead'),
      )
      .execute();
    return rows.map(({ address }) => ({ kind: 'create', address }));
  }

  /** Throws NotFound. */
  async get(messageHash: string): Promise<NonceUpkeepRow> {
    const row = await this.#db
      .selectFrom('nonceUpkeep')
      .selectAll()
      .where('messageHash', '=', messageHash)
      .executeTakeFirst();
    if (row !== undefined) return row;
    throw new DomainError('NotFound', `there is no nonce upkeep ${messageHash}`, { messageHash });
  }

  /** Stores the signed bytes, before any of them is sent; the same again changes nothing. */
  async storeSignature(messageHash: string, signature: string, raw: string): Promise<NonceUpkeepRow> {
    await this.#db
      .updateTable('nonceUpkeep')
      .set({ state: 'signed', signature, raw })
      .where('messageHash', '=', messageHash)
      .where('state', '=', 'prepared')
      .execute();
    return this.get(messageHash);
  }

  /** Records how it ended; the first verdict stays. */
  async settle(messageHash: string, outcome: AttemptOutcome): Promise<NonceUpkeepRow> {
    await this.#db
      .updateTable('nonceUpkeep')
      .set({
        state: outcome.state,
        slot: outcome.slot ?? null,
        error: outcome.error ?? null,
        proof: toJson(outcome.proof),
        ...(outcome.feeLamports === undefined ? {} : { feeLamports: outcome.feeLamports }),
      })
      .where('messageHash', '=', messageHash)
      .where('state', '=', 'signed')
      .execute();
    return this.get(messageHash);
  }
}

function requestOf({
  kind,
  address,
  nonce,
}: Pick<NonceUpkeepRow, 'kind' | 'address'> & { readonly nonce: string }): NonceUpkeepRequest {
  return kind === 'create' ? { kind, address } : { kind, address, nonce };
}

async function liveIn(db: Database, address: string): Promise<NonceUpkeepRow | undefined> {
  return db
    .selectFrom('nonceUpkeep')
    .selectAll()
    .where('address', '=', address)
    .where('state', 'in', LIVE)
    .executeTakeFirst();
}

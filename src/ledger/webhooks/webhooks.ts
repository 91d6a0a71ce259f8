import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { Seal, WebhookTopic } from '../../domain/webhook.ts';
import { type Database, Repository, type RowOf } from '../database.ts';
import { closeAlert, closeAlerts, raiseAlert } from '../operations/alerts.ts';
import { Deliveries } from './deliveries.ts';

export type WebhookRow = Omit<RowOf<'webhookEndpoint'>, 'secret' | 'previousSecret'>;

/** A new secret. It is shown once: afterwards it can only be used. */
export interface IssuedSecret {
  readonly row: WebhookRow;
  /** `whsec_` and base64 of 32 bytes; null if the endpoint existed already. */
  readonly secret: string | null;
}

const SECRET_BYTES = 32;
const ALERTS = ['webhook_behind', 'webhook_dead_letter', 'webhook_unsent', 'webhook_disabled'] as const;
const PUBLIC_COLUMNS = [
  'id',
  'position',
  'url',
  'events',
  'previousSecretUntil',
  'disabledAt',
  'disabledBecause',
  'createdAt',
] as const;

export class Webhooks extends Repository {
  readonly #seal: Seal;

  constructor(db: Database, seal: Seal) {
    super(db);
    this.#seal = seal;
  }

  /** The same URL again replaces its events, and returns no secret. Older events are not delivered. */
  async put(url: string, events: readonly WebhookTopic[]): Promise<IssuedSecret> {
    const id = `wh_${randomUUID()}`;
    const secret = newSecret();
    const row = await this.db
      .insertInto('webhookEndpoint')
      .values({ id, url, events, secret: this.#seal.seal(secret, id) })
      .onConflict((conflict) => conflict.column('url').doUpdateSet({ events }))
      .returning(PUBLIC_COLUMNS)
      .executeTakeFirstOrThrow();
    return { row, secret: row.id === id ? secret : null };
  }

  /** Oldest first. */
  async list(): Promise<readonly WebhookRow[]> {
    return this.db.selectFrom('webhookEndpoint').select(PUBLIC_COLUMNS).orderBy('position').execute();
  }

  /** Throws NotFound. */
  async get(id: string): Promise<WebhookRow> {
    const query = this.db.selectFrom('webhookEndpoint').select(PUBLIC_COLUMNS).where('id', '=', id);
    return query.executeTakeFirstOrThrow(() => noWebhook(id));
  }

  /**
   * Also deletes undelivered events and alerts. Disabled first, so that writers of events do not wait for the
   * deletion of up to a million deliveries. Throws NotFound.
   */
  async remove(id: string): Promise<WebhookRow> {
    const removed = await this.get(id);
    await turnOff(this.db, id, 'it is being deleted');
    await new Deliveries(this.db).deleteAll(id);
    await this.db.deleteFrom('webhookEndpoint').where('id', '=', id).execute();
    await this.db
      .transaction()
      .execute((trx) =>
        closeAlerts(trx, (row) => row.and([row('kind', 'in', ALERTS), row('subject', '=', id)])),
      );
    return removed;
  }

  /**
   * The secret that the receiver has also signs for `keepPreviousHours`. A second call within that time replaces
   * only the newest secret, which the receiver may not have yet. With 0 the old ones end at once. Throws NotFound.
   */
  async rotate(id: string, keepPreviousHours: number): Promise<IssuedSecret> {
    const secret = newSecret();
    const keep = keepPreviousHours > 0;
    const row = await this.db
      .updateTable('webhookEndpoint')
      .set({
        secret: this.#seal.seal(secret, id),
        previousSecret: keep
          ? sql<string>`case when previous_secret_until > now() then previous_secret else secret end`
          : null,
        previousSecretUntil: keep ? sql<Date>`now() + make_interval(hours => ${keepPreviousHours})` : null,
      })
      .where('id', '=', id)
      .returning(PUBLIC_COLUMNS)
      .executeTakeFirstOrThrow(() => noWebhook(id));
    return { row, secret };
  }

  /** Enables the endpoint from now on, and closes its alert. Throws NotFound. */
  async enable(id: string): Promise<WebhookRow> {
    return this.db.transaction().execute(async (trx) => {
      const enabled = await trx
        .updateTable('webhookEndpoint')
        .set({ disabledAt: null, disabledBecause: null })
        .where('id', '=', id)
        .returning(PUBLIC_COLUMNS)
        .executeTakeFirstOrThrow(() => noWebhook(id));
      await closeAlert(trx, 'webhook_disabled', id);
      return enabled;
    });
  }

  /** Disables the endpoint and raises an alert. Does nothing if it is disabled already, or deleted. */
  async disable(id: string, because: string): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      const url = await turnOff(trx, id, because);
      if (url === null) return;
      // The host alone: other endpoints receive alerts, and the URL may be a receiver's only secret.
      const message = `the webhook ${id} at ${new URL(url).host} is disabled: ${because}`;
      await raiseAlert(trx, { kind: 'webhook_disabled', subject: id, message });
    });
  }

  /** The secrets that sign now, newest first. Throws NotFound. */
  async secretsOf(id: string): Promise<readonly string[]> {
    const { secret, previous } = await this.db
      .selectFrom('webhookEndpoint')
      .select('secret')
      .select(
        sql<string | null>`case when previous_secret_until > now() then previous_secret end`.as('previous'),
      )
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => noWebhook(id));
    return [secret, ...(previous === null ? [] : [previous])].map((sealed) => this.#seal.open(sealed, id));
  }
}

/** The URL of the endpoint if it was enabled, else null. */
async function turnOff(db: Database, id: string, because: string): Promise<string | null> {
  const off = await db
    .updateTable('webhookEndpoint')
    .set({ disabledAt: sql<Date>`now()`, disabledBecause: because })
    .where('id', '=', id)
    .where('disabledAt', 'is', null)
    .returning('url')
    .executeTakeFirst();
  return off?.url ?? null;
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

function noWebhook(id: string): DomainError {
  return new DomainError('NotFound', `there is no webhook ${id}`, { id });
}

import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { TextCipher, WebhookTopic } from '../../domain/webhook.ts';
import { type Database, Repository, type RowOf } from '../database.ts';
import { closeAlert, closeAlerts, raiseAlert } from '../operations/alerts.ts';
import { Deliveries } from './deliveries.ts';

export type WebhookRow = Omit<RowOf<'webhookEndpoint'>, 'secret' | 'previousSecret'>;

/** An endpoint and its new secret, which is returned only in this response. */
export interface IssuedSecret {
  readonly row: WebhookRow;
  /** `whsec_` and base64 of 32 bytes; null if the endpoint existed already. */
  readonly secret: string | null;
}

const SECRET_BYTES = 32;
const ALERT_KINDS = ['webhook_behind', 'webhook_dead_letter', 'webhook_unsent', 'webhook_disabled'] as const;
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
  readonly #cipher: TextCipher;

  constructor(db: Database, cipher: TextCipher) {
    super(db);
    this.#cipher = cipher;
  }

  /**
   * Creates an endpoint; an existing URL only gets the new `events`, and no secret is returned. Earlier events are not
   * sent.
   */
  async put(url: string, events: readonly WebhookTopic[]): Promise<IssuedSecret> {
    const id = `wh_${randomUUID()}`;
    const secret = newSecret();
    const row = await this.db
      .insertInto('webhookEndpoint')
      .values({ id, url, events, secret: this.#cipher.encrypt(secret, id) })
      .onConflict((conflict) => conflict.column('url').doUpdateSet({ events }))
      .returning(PUBLIC_COLUMNS)
      .executeTakeFirstOrThrow();
    return { row, secret: row.id === id ? secret : null };
  }

  /** All endpoints, oldest first. */
  async list(): Promise<readonly WebhookRow[]> {
    return this.db.selectFrom('webhookEndpoint').select(PUBLIC_COLUMNS).orderBy('position').execute();
  }

  /** Throws NotFound. */
  async get(id: string): Promise<WebhookRow> {
    const query = this.db.selectFrom('webhookEndpoint').select(PUBLIC_COLUMNS).where('id', '=', id);
    return query.executeTakeFirstOrThrow(() => noWebhook(id));
  }

  /**
   * Deletes the webhook, its undelivered events and its alerts. The webhook is disabled first, so that transactions
   * which write events do not wait while up to a million deliveries are deleted. Throws NotFound.
   */
  async remove(id: string): Promise<WebhookRow> {
    const removed = await this.get(id);
    await disableEndpoint(this.db, id, 'the webhook is being deleted');
    await new Deliveries(this.db).deleteAll(id);
    await this.db.deleteFrom('webhookEndpoint').where('id', '=', id).execute();
    await this.db
      .transaction()
      .execute((trx) =>
        closeAlerts(trx, (row) => row.and([row('kind', 'in', ALERT_KINDS), row('subject', '=', id)])),
      );
    return removed;
  }

  /**
   * Creates a new secret. The previous secret also signs for `keepPreviousHours`; with 0 it ends at once. A call within
   * that time replaces the newest secret and keeps the previous one, which the receiver uses. Throws NotFound.
   */
  async rotate(id: string, keepPreviousHours: number): Promise<IssuedSecret> {
    const secret = newSecret();
    const keepsPrevious = keepPreviousHours > 0;
    const row = await this.db
      .updateTable('webhookEndpoint')
      .set({
        secret: this.#cipher.encrypt(secret, id),
        previousSecret: keepsPrevious
          ? sql<string>`case when previous_secret_until > now() then previous_secret else secret end`
          : null,
        previousSecretUntil: keepsPrevious
          ? sql<Date>`now() + make_interval(hours => ${keepPreviousHours})`
          : null,
      })
      .where('id', '=', id)
      .returning(PUBLIC_COLUMNS)
      .executeTakeFirstOrThrow(() => noWebhook(id));
    return { row, secret };
  }

  /** Enables the endpoint and closes its alert `webhook_disabled`. Throws NotFound. */
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

  /** Disables the endpoint and raises an alert. Does nothing if the endpoint is already disabled or deleted. */
  async disable(id: string, reason: string): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      const url = await disableEndpoint(trx, id, reason);
      if (url === null) return;
      // Contains only the host: other endpoints receive alerts too, and the URL can be a receiver's only secret.
      const message = `the webhook ${id} at ${new URL(url).host} is disabled: ${reason}`;
      await raiseAlert(trx, { kind: 'webhook_disabled', subject: id, message });
    });
  }

  /** The secrets that currently sign events, newest first. Throws NotFound. */
  async secretsOf(id: string): Promise<readonly string[]> {
    const { secret, previous } = await this.db
      .selectFrom('webhookEndpoint')
      .select('secret')
      .select(
        sql<string | null>`case when previous_secret_until > now() then previous_secret end`.as('previous'),
      )
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => noWebhook(id));
    return [secret, ...(previous === null ? [] : [previous])].map((encrypted) =>
      this.#cipher.decrypt(encrypted, id),
    );
  }
}

/** Disables the endpoint. Returns its URL, or null if it was not enabled. */
async function disableEndpoint(db: Database, id: string, reason: string): Promise<string | null> {
  const disabled = await db
    .updateTable('webhookEndpoint')
    .set({ disabledAt: sql<Date>`now()`, disabledBecause: reason })
    .where('id', '=', id)
    .where('disabledAt', 'is', null)
    .returning('url')
    .executeTakeFirst();
  return disabled?.url ?? null;
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

function noWebhook(id: string): DomainError {
  return new DomainError('NotFound', `there is no webhook ${id}`, { id });
}

import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import type { DeliveryKey } from '../../../src/domain/webhook.ts';
import { writeEvent } from '../../../src/ledger/webhooks/outbox.ts';
import { Webhooks } from '../../../src/ledger/webhooks/webhooks.ts';
import { textCipherOf } from '../../../src/platform/encryption.ts';
import { codeOf, newId, useLedger } from '../support.ts';

const use = useLedger();

afterEach(async () => {
  for (const { id } of await use.ledger.webhooks.list()) await use.ledger.webhooks.remove(id);
});

function url(): string {
  return `https://${newId('receiver')}.example/`;
}

async function queueEvent(entity: string): Promise<void> {
  await use.ledger.db
    .transaction()
    .execute((trx) => writeEvent(trx, { type: 'deposit.final', entity, data: {} }));
}

async function nextInLine(endpoint: string, entity: string): Promise<DeliveryKey> {
  const key = await use.ledger.deliveries.nextInLine({ endpoint, entity });
  if (key === null) throw new Error('nothing waits');
  return key;
}

async function isAlarmed(endpoint: string): Promise<boolean> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 99 });
  return rows.some(({ kind, subject }) => kind === 'webhook_dead_letter' && subject === endpoint);
}

/** The open alerts about long waits, after a check. */
async function behind() {
  await use.ledger.deliveries.updateLateAlerts();
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 99 });
  return rows.filter(({ kind }) => kind === 'webhook_behind');
}

/** Moves the times of the database into the past. */
async function hoursPass(hours: number): Promise<void> {
  const past = sql`make_interval(secs => ${hours * 3_600})`;
  const { db } = use.ledger;
  await sql`update webhook_endpoint set previous_secret_until = previous_secret_until - ${past}`.execute(db);
  await sql`update webhook_delivery set handed_at = handed_at - ${past}`.execute(db);
  await sql`update webhook_event set created_at = created_at - ${past}`.execute(db);
}

describe('the secrets of an endpoint', () => {
  it('are shown once, and a repeated registration of the same URL changes its events only', async () => {
    const there = url();
    const first = await use.ledger.webhooks.put(there, ['*']);
    const again = await use.ledger.webhooks.put(there, ['deposit.*']);
    expect(first.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(again).toMatchObject({ secret: null, row: { id: first.row.id, events: ['deposit.*'] } });
    expect(await use.ledger.webhooks.secretsOf(first.row.id)).toEqual([first.secret]);
    expect(JSON.stringify(await use.ledger.webhooks.list(), bigintToo)).not.toContain('whsec_');
  });

  it('are two during a rotation, and the receiver’s current one is among them', async () => {
    const { webhooks } = use.ledger;
    const { row, secret: first } = await webhooks.put(url(), ['*']);
    await webhooks.rotate(row.id, 24);
    const { secret: second } = await webhooks.rotate(row.id, 24);
    expect(await webhooks.secretsOf(row.id)).toEqual([second, first]);
    await hoursPass(25);
    expect(await webhooks.secretsOf(row.id)).toEqual([second]);
    const { secret: third } = await webhooks.rotate(row.id, 24);
    expect(await webhooks.secretsOf(row.id)).toEqual([third, second]);
    const { secret: only } = await webhooks.rotate(row.id, 0);
    expect(await webhooks.secretsOf(row.id)).toEqual([only]);
  });

  it('are encrypted where there is a key, and cannot be decrypted for another endpoint or with another key', async () => {
    const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const sealed = new Webhooks(use.ledger.db, textCipherOf([key]));
    const [a, b] = [await sealed.put(url(), ['*']), await sealed.put(url(), ['*'])];
    const stored = use.ledger.db.selectFrom('webhookEndpoint').select('secret');
    expect((await stored.execute()).every(({ secret }) => secret.startsWith('sealed:'))).toBe(true);
    const changed = new Webhooks(use.ledger.db, textCipherOf([other, key]));
    expect(await changed.secretsOf(a.row.id)).toEqual([a.secret]);
    await expect(use.ledger.webhooks.secretsOf(a.row.id)).rejects.toThrow('SLUICE_PAYLOAD_KEY is not set');
    await expect(new Webhooks(use.ledger.db, textCipherOf([other])).secretsOf(a.row.id)).rejects.toThrow(
      /lacks/,
    );
    await sql`update webhook_endpoint set secret =
      (select secret from webhook_endpoint where id = ${b.row.id}) where id = ${a.row.id}`.execute(
      use.ledger.db,
    );
    await expect(sealed.secretsOf(a.row.id)).rejects.toThrow();
  });

  it('that were stored before there was a key are still read', async () => {
    const { row, secret } = await use.ledger.webhooks.put(url(), ['*']);
    const now = new Webhooks(use.ledger.db, textCipherOf([Buffer.alloc(32, 1)]));
    expect(await now.secretsOf(row.id)).toEqual([secret]);
  });
});

const bigintToo = (_key: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);

describe('the webhook deliveries', () => {
  it('are handed over once for each endpoint and entity, up to the newest sequence seen', async () => {
    const { deliveries, webhooks } = use.ledger;
    const { row } = await webhooks.put(url(), ['*']);
    for (const entity of ['deposit/a', 'deposit/b', 'deposit/a']) await queueEvent(entity);
    const lines = await deliveries.pendingLines();
    expect(lines.map(({ endpoint, entity }) => [endpoint, entity])).toEqual([
      [row.id, 'deposit/a'],
      [row.id, 'deposit/b'],
    ]);
    await queueEvent('deposit/a');
    for (const line of lines) await deliveries.markHandedOver(line);
    expect(await deliveries.pendingLines()).toMatchObject([{ entity: 'deposit/a' }]);
  });

  it('are handed over again where no workflow has tried them for a long time', async () => {
    const { deliveries, webhooks } = use.ledger;
    const { row } = await webhooks.put(url(), ['*']);
    for (const entity of ['deposit/lost', 'deposit/tried', 'deposit/tried']) await queueEvent(entity);
    for (const line of await deliveries.pendingLines()) await deliveries.markHandedOver(line);
    await hoursPass(3);
    await deliveries.recordFailure(await nextInLine(row.id, 'deposit/tried'), 'the receiver answered 500');
    expect(await deliveries.pendingLines()).toMatchObject([{ entity: 'deposit/lost' }]);
  });

  it('are marked dead with an alert, in one step, and wait again when they are replayed', async () => {
    const { deliveries, webhooks, alerts } = use.ledger;
    const { row } = await webhooks.put(url(), ['deposit.*']);
    for (const entity of ['deposit/x', 'deposit/y']) await queueEvent(entity);
    for (const entity of ['deposit/x', 'deposit/y']) {
      const key = await nextInLine(row.id, entity);
      await deliveries.recordFailure(key, 'the receiver answered 500');
      await deliveries.giveUp(key);
      await deliveries.giveUp(key, 'again');
      await deliveries.markDelivered(key);
    }
    const { rows } = await deliveries.list({ endpoint: row.id, state: 'dead', limit: 9 });
    expect(rows).toMatchObject([
      { entity: 'deposit/y', attempts: 1, lastError: 'the receiver answered 500' },
      { entity: 'deposit/x' },
    ]);
    const open = (await alerts.list({ open: true, limit: 9 })).rows.filter(
      ({ subject }) => subject === row.id,
    );
    expect(open).toMatchObject([{ kind: 'webhook_dead_letter', count: 2 }]);
    expect(await deliveries.replay(row.id, rows[0]?.id)).toBe(1);
    expect(await deliveries.pendingLines()).toMatchObject([{ entity: 'deposit/y' }]);
    expect(await isAlarmed(row.id)).toBe(true);
    expect(await deliveries.replay(row.id)).toBe(1);
    expect(await isAlarmed(row.id)).toBe(false);
    expect(await deliveries.replay(row.id)).toBe(0);
  });

  it('that wait for a long time raise one alert for each endpoint, until they are delivered', async () => {
    const { deliveries, webhooks } = use.ledger;
    const [late, other, off] = [
      await webhooks.put('https://late.example/a-key', ['deposit.*']),
      await webhooks.put(url(), ['withdrawal.*']),
      await webhooks.put(url(), ['deposit.*']),
    ];
    for (const entity of ['deposit/x', 'deposit/y']) await queueEvent(entity);
    await webhooks.disable(off.row.id, 'the receiver answered 410 Gone');
    expect(await behind()).toEqual([]);
    await hoursPass(0.3);
    await deliveries.recordFailure(await nextInLine(late.row.id, 'deposit/y'), 'connect ECONNREFUSED');
    expect(await behind()).toMatchObject([{ subject: late.row.id, details: { waiting: 2, dead: 0 } }]);
    const [alert] = await behind();
    expect(alert?.message).toMatch(
      new RegExp(
        `^2 events wait for the webhook ${late.row.id} at late.example, the oldest since \\S+Z: connect`,
      ),
    );
    expect(alert?.count).toBe(2);
    expect(other.row.disabledBecause).toBeNull();
    const dead = await nextInLine(late.row.id, 'deposit/y');
    await deliveries.giveUp(dead);
    await deliveries.markDelivered(await nextInLine(late.row.id, 'deposit/x'));
    expect(await behind()).toEqual([]);
    await deliveries.replay(late.row.id);
    expect(await behind()).toMatchObject([{ subject: late.row.id, details: { waiting: 1, dead: 0 } }]);
    await deliveries.markDelivered(dead);
    expect(await behind()).toEqual([]);
  });

  it('that are replayed one by one close their alert with the last one', async () => {
    const { deliveries, webhooks } = use.ledger;
    const { row } = await webhooks.put(url(), ['deposit.*']);
    await queueEvent('deposit/x');
    const key = await nextInLine(row.id, 'deposit/x');
    await deliveries.giveUp(key);
    expect(await isAlarmed(row.id)).toBe(true);
    expect(await deliveries.replay(row.id, key.event)).toBe(1);
    expect(await isAlarmed(row.id)).toBe(false);
  });

  it('that die while others are replayed raise an alert', async () => {
    const { deliveries, webhooks } = use.ledger;
    const { row } = await webhooks.put(url(), ['deposit.*']);
    for (const entity of ['deposit/x', 'deposit/y']) await queueEvent(entity);
    const [one, other] = [await nextInLine(row.id, 'deposit/x'), await nextInLine(row.id, 'deposit/y')];
    for (let again = 0; again < 10; again += 1) {
      await deliveries.giveUp(one);
      await Promise.all([deliveries.replay(row.id, one.event), deliveries.giveUp(other)]);
      expect(await isAlarmed(row.id)).toBe(true);
      await deliveries.replay(row.id);
      expect(await isAlarmed(row.id)).toBe(false);
    }
  });

  it('are given up and deleted at the same time without an error in either', async () => {
    const { deliveries, webhooks } = use.ledger;
    const made = await Promise.all(Array.from({ length: 12 }, () => webhooks.put(url(), ['*'])));
    await queueEvent('deposit/both');
    const { event } = await nextInLine(made[0]?.row.id ?? '', 'deposit/both');
    await Promise.all(
      made.flatMap(({ row: { id } }) => [deliveries.giveUp({ endpoint: id, event }), webhooks.remove(id)]),
    );
    expect(await webhooks.list()).toEqual([]);
  });

  it('of a restored database are not mistaken for lost ones with the same numbers', async () => {
    const { db, deliveries, webhooks } = use.ledger;
    const { row } = await webhooks.put(url(), ['*']);
    await queueEvent('deposit/kept');
    const { last } = await db
      .selectFrom('webhookEvent')
      .select((one) => one.fn.max('sequence').as('last'))
      .executeTakeFirstOrThrow();
    await queueEvent('deposit/lost');
    const lost = await nextInLine(row.id, 'deposit/lost');
    await sql`delete from webhook_delivery where sequence > ${last}`.execute(db);
    await sql`delete from webhook_event where sequence > ${last}`.execute(db);
    await sql`select setval(pg_get_serial_sequence('webhook_event', 'sequence'), ${last})`.execute(db);
    await queueEvent('deposit/other');
    // The run of the lost queue is in Temporal, and does not know of the restore.
    expect(await deliveries.findDue(lost)).toBeNull();
    expect(await deliveries.recordFailure(lost, 'the receiver answered 500')).toBeNull();
    await deliveries.markDelivered(lost);
    await deliveries.giveUp(lost);
    const { rows } = await deliveries.list({ endpoint: row.id, limit: 9 });
    expect(rows.map(({ entity, state, attempts }) => [entity, state, attempts])).toEqual([
      ['deposit/other', 'waiting', 0],
      ['deposit/kept', 'waiting', 0],
    ]);
  });

  it('are deleted only when they are old and ended', async () => {
    const { deliveries, webhooks } = use.ledger;
    const { row } = await webhooks.put(url(), ['*']);
    for (const entity of ['deposit/old', 'deposit/waits']) await queueEvent(entity);
    await deliveries.markDelivered(await nextInLine(row.id, 'deposit/old'));
    expect(await deliveries.deleteOld(1)).toBe(0);
    await hoursPass(25);
    await deliveries.deleteOld(1);
    const { rows } = await deliveries.list({ endpoint: row.id, limit: 9 });
    expect(rows.map(({ entity }) => entity)).toEqual(['deposit/waits']);
  });

  it('of a disabled endpoint give the reason, with an alert', async () => {
    const { deliveries, webhooks, alerts } = use.ledger;
    const { row } = await webhooks.put(url(), ['*']);
    await queueEvent('deposit/z');
    await webhooks.disable(row.id, 'the receiver answered 410 Gone');
    expect(await deliveries.findDue(await nextInLine(row.id, 'deposit/z'))).toMatchObject({
      disabledBecause: 'the receiver answered 410 Gone',
    });
    expect(await alerts.subjectsEverRaised('webhook_disabled', [row.id])).toEqual(new Set([row.id]));
    expect(await webhooks.enable(row.id)).toMatchObject({ disabledBecause: null });
    expect(await alerts.close('webhook_disabled', row.id)).toBe(false);
    await webhooks.disable(row.id, 'again');
    await webhooks.remove(row.id);
    expect(await alerts.close('webhook_disabled', row.id)).toBe(false);
  });

  it('of a disabled endpoint show only its host to other endpoints', async () => {
    const { db, webhooks } = use.ledger;
    const { row } = await webhooks.put('https://hooks.example/T0/very-secret-token?key=1', ['deposit.*']);
    const other = await webhooks.put(url(), ['*']);
    await webhooks.disable(row.id, 'the receiver answered 410 Gone');
    const events = await db
      .selectFrom('webhookDelivery as delivery')
      .innerJoin('webhookEvent as event', 'event.sequence', 'delivery.sequence')
      .select('event.body')
      .where('delivery.endpoint', '=', other.row.id)
      .execute();
    expect(events).toHaveLength(1);
    expect(events[0]?.body).toContain(`the webhook ${row.id} at hooks.example is disabled`);
    expect(events[0]?.body).not.toContain('secret');
  });

  it('are refused for an endpoint or delivery that does not exist', async () => {
    const { webhooks } = use.ledger;
    for (const call of ['get', 'remove', 'enable', 'secretsOf'] as const)
      expect(await codeOf(webhooks[call]('wh_none'))).toBe('NotFound');
    expect(await codeOf(webhooks.rotate('wh_none', 1))).toBe('NotFound');
  });
});

import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import type { WebhookTopic } from '../../../src/domain/webhook.ts';
import { type OutboxEvent, writeEvent } from '../../../src/ledger/webhooks/outbox.ts';
import { attempt, DEAD, newId, PLENTY, REASON, resume, useLedger } from '../support.ts';
import { terms } from '../terms.ts';

const use = useLedger();

afterEach(async () => {
  for (const { id } of await use.ledger.webhooks.list()) await use.ledger.webhooks.remove(id);
});

async function endpoint(...events: WebhookTopic[]): Promise<string> {
  const url = `https://${newId('receiver')}.example/`;
  return (await use.ledger.webhooks.put(url, events)).row.id;
}

/** The events of an entity that an endpoint receives, in order. */
async function eventsFor(
  id: string,
  entity?: string,
): Promise<readonly { type: string; data: Record<string, unknown> }[]> {
  let query = use.ledger.db
    .selectFrom('webhookDelivery as delivery')
    .innerJoin('webhookEvent as event', 'event.sequence', 'delivery.sequence')
    .select('event.body')
    .where('delivery.endpoint', '=', id);
  if (entity !== undefined) query = query.where('delivery.entity', '=', entity);
  const rows = await query.orderBy('delivery.sequence').execute();
  return rows.map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> });
}

const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

function write(event: OutboxEvent): Promise<void> {
  return use.ledger.db.transaction().execute((trx) => writeEvent(trx, event));
}

const FINAL: OutboxEvent = { type: 'deposit.final', entity: 'deposit/1', data: { amount: 2n ** 60n } };

describe('the outbox', () => {
  it('has an event exactly where the transaction of its change was committed', async () => {
    const id = await endpoint('*');
    const failing = use.ledger.db.transaction().execute(async (trx) => {
      await writeEvent(trx, FINAL);
      throw new Error('the change did not happen');
    });
    await expect(failing).rejects.toThrow('did not happen');
    expect(await eventsFor(id)).toEqual([]);
    await write(FINAL);
    expect(await eventsFor(id)).toMatchObject([
      { type: 'deposit.final', data: { amount: '1152921504606846976' }, timestamp: expect.any(String) },
    ]);
  });

  it('has the events that each endpoint subscribed to, and no others', async () => {
    const exact = await endpoint('deposit.final');
    const family = await endpoint('deposit.*', 'alert.raised');
    const other = await endpoint('withdrawal.*');
    const off = await endpoint('*');
    await use.ledger.webhooks.disable(off, 'of a test');
    for (const type of ['deposit.pending', 'deposit.final'] as const) await write({ ...FINAL, type });
    expect(typesOf(await eventsFor(exact))).toEqual(['deposit.final']);
    expect(typesOf(await eventsFor(family, 'deposit/1'))).toEqual(['deposit.pending', 'deposit.final']);
    expect([await eventsFor(other), await eventsFor(off, 'deposit/1')]).toEqual([[], []]);
    for (const id of [exact, family, other, off]) await use.ledger.webhooks.remove(id);
    await write({ ...FINAL, entity: 'deposit/unwanted' });
    const stored = use.ledger.db.selectFrom('webhookEvent').where('entity', '=', 'deposit/unwanted');
    expect(await stored.select('id').execute()).toEqual([]);
  });

  it('does not fail a transaction that writes events for an endpoint during its deletion', async () => {
    const gone = await endpoint('*');
    const stays = await endpoint('*');
    let written: Promise<void> | undefined;
    await use.ledger.db.transaction().execute(async (trx) => {
      await trx.deleteFrom('webhookEndpoint').where('id', '=', gone).execute();
      written = write(FINAL);
      await waitsForLock();
    });
    await written;
    expect(typesOf(await eventsFor(stays))).toEqual(['deposit.final']);
  });
});

describe('an endpoint that takes long to delete', () => {
  it('does not delay transactions that write events for others', async () => {
    const [gone, stays] = [await endpoint('*'), await endpoint('*')];
    await write(FINAL);
    let removed: Promise<unknown> | undefined;
    await use.ledger.db.transaction().execute(async (trx) => {
      await trx
        .selectFrom('webhookDelivery')
        .select('entity')
        .where('endpoint', '=', gone)
        .forUpdate()
        .execute();
      removed = use.ledger.webhooks.remove(gone);
      await waitsForLock();
      await write({ ...FINAL, entity: 'deposit/meanwhile' });
    });
    await removed;
    expect(await eventsFor(stays, 'deposit/meanwhile')).toHaveLength(1);
  });
});

/** Resolves once a statement of this database waits for a lock. */
async function waitsForLock(): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ waiting: bigint }>`
      select count(*) as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(use.ledger.db);
    if ((rows[0]?.waiting ?? 0n) > 0n) return;
  }
}

describe('a withdrawal has an event', () => {
  it('for each state that a customer needs, with the signature, once', async () => {
    const endpointId = await endpoint('withdrawal.*');
    const id = newId();
    const { settlements, withdrawals, attempts } = use.ledger;
    await withdrawals.reserve(terms(id, { memo: 'invoice 17' }));
    for (let again = 0; again < 2; again += 1) await settlements.move(id, 'awaiting_funds', REASON);
    await attempts.prepare(attempt(id), PLENTY);
    for (let again = 0; again < 2; again += 1) await attempts.storeSignature(id, 1, `signature-${id}`);
    for (const message of ['one node is silent', 'two nodes are silent'])
      await settlements.note(id, 'held', { code: 'nodes_silent', message });
    await settlements.note(id, 'confirmed', null);
    const landed = { state: 'landed', slot: 7n, proof: null, amountReceived: 99n } as const;
    for (let again = 0; again < 2; again += 1) await attempts.settle(id, 1, landed);
    const events = await eventsFor(endpointId, `withdrawal/${id}`);
    expect(typesOf(events)).toEqual([
      'withdrawal.awaiting_funds',
      'withdrawal.sending',
      'withdrawal.held',
      'withdrawal.confirmed',
      'withdrawal.finalized',
    ]);
    expect(events[0]?.data).toMatchObject({ status: 'awaiting_funds', reason: REASON, signature: null });
    expect(events[1]?.data).toMatchObject({ signature: `signature-${id}` });
    expect(events[4]?.data).toEqual({
      ...terms(id),
      memo: 'invoice 17',
      status: 'finalized',
      reason: null,
      amountReceived: '99',
      signature: `signature-${id}`,
      updatedAt: expect.any(String),
    });
  });

  it('for its end without payment, and for an attempt that died before', async () => {
    const endpointId = await endpoint('withdrawal.*');
    const id = newId();
    const { settlements, withdrawals, attempts } = use.ledger;
    await withdrawals.reserve(terms(id));
    await attempts.prepare(attempt(id), PLENTY);
    await attempts.storeSignature(id, 1, `signature-${id}`);
    await attempts.settle(id, 1, DEAD);
    await settlements.move(id, 'rejected', REASON);
    expect(typesOf(await eventsFor(endpointId))).toEqual(['withdrawal.sending', 'withdrawal.rejected']);
  });
});

describe('an alert has an event', () => {
  it('when it is first raised, and when it is closed, by whatever means', async () => {
    const { alerts, pauses } = use.ledger;
    const id = await endpoint('alert.*');
    const alarm = { kind: 'node_lagging', subject: 'a', message: 'a lags' } as const;
    for (let again = 0; again < 2; again += 1) await alerts.raise(alarm);
    for (let again = 0; again < 2; again += 1) await alerts.close('node_lagging', 'a');
    await alerts.syncOpen(['node_lagging'], [alarm]);
    await alerts.syncOpen(['node_lagging'], []);
    await pauses.pauseWithAlert({ kind: 'unknown_spend', subject: 's', message: 'whose is it?' });
    await resume(use.ledger);
    const events = await eventsFor(id);
    const changes = events.map(({ type, data }) => [type, data.subject]);
    const round = (subject: string) => [
      ['alert.raised', subject],
      ['alert.closed', subject],
    ];
    expect(changes).toEqual([...round('a'), ...round('a'), ...round('s')]);
    expect(events[1]?.data).toMatchObject({ kind: 'node_lagging', count: 2, closedAt: expect.any(String) });
  });
});

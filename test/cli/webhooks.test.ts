import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeEvent } from '../../src/ledger/webhooks/outbox.ts';
import { API_KEY, openService, type Service } from '../http/service.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';

let service: Service;
let apiUrl: string;

beforeAll(async () => {
  service = await openService();
  apiUrl = await service.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => service?.close());

async function sluice(...args: readonly string[]): Promise<{ json: unknown; code: number | null }> {
  const env = { SLUICE_API_URL: apiUrl, SLUICE_API_KEY: API_KEY };
  const ended = await callSluice(['webhooks', ...args, '-o', 'json'], { env });
  return { json: jsonOf(ended), code: ended.code };
}

describe('sluice webhooks', () => {
  it('creates, lists, rotates, enables and deletes an endpoint', async () => {
    const url = 'https://exchange.example/hooks';
    const added = await sluice('create', url, 'deposit.*', 'withdrawal.finalized');
    expect(added).toMatchObject({
      json: { url, events: ['withdrawal.finalized', 'deposit.*'], secret: expect.stringMatching(/^whsec_/) },
      code: 0,
    });
    const { id } = added.json as { id: string };
    expect((await sluice('rotate-secret', id)).code).toBe(0);
    const replace = ['rotate-secret', id, '--keep-hours', '0'];
    expect(await sluice(...replace)).toMatchObject({
      json: { error: { message: expect.stringContaining('add --yes to confirm') } },
      code: 2,
    });
    const rotated = await sluice(...replace, '--yes');
    expect(rotated).toMatchObject({ json: { secret: expect.stringMatching(/^whsec_/) }, code: 0 });
    await service.ledger.webhooks.disable(id, 'of a test');
    expect((await sluice('list')).json).toMatchObject({ webhooks: [{ id, disabledBecause: 'of a test' }] });
    expect((await sluice('enable', id)).json).toMatchObject({ disabledBecause: null });
    expect((await sluice('delete', id)).code).toBe(2);
    expect((await sluice('delete', id, '--yes')).code).toBe(0);
    expect((await sluice('delete', id, '--yes')).code).toBe(3);
    expect((await sluice('create', url, 'withdrawal.requested')).code).toBe(2);
    expect((await sluice('create', 'http://127.0.0.1/')).code).toBe(2);
  });

  it('lists dead letters and replays them', async () => {
    const { row } = await service.ledger.webhooks.put('https://dead.example/', ['deposit.*']);
    const event = { type: 'deposit.final', entity: 'deposit/1', data: {} } as const;
    await service.ledger.db.transaction().execute((trx) => writeEvent(trx, event));
    const { deliveries } = service.ledger;
    const key = await deliveries.nextInLine({ endpoint: row.id, entity: 'deposit/1' });
    if (key !== null) await deliveries.giveUp(key, 'the receiver answered 500');
    expect(await sluice('deliveries', row.id, '--state', 'dead')).toMatchObject({
      json: { deliveries: [{ entity: 'deposit/1', lastError: 'the receiver answered 500' }] },
      code: 0,
    });
    expect(await sluice('replay', row.id)).toMatchObject({ json: { replayed: 1 }, code: 0 });
    expect(await sluice('replay', row.id)).toMatchObject({ json: { replayed: 0 }, code: 3 });
    const env = { SLUICE_API_URL: apiUrl, SLUICE_API_KEY: API_KEY };
    const nothing = await callSluice(['webhooks', 'replay', row.id], { env });
    expect(nothing.stdout).toBe('the endpoint has no dead events\n');
    const other = await callSluice(['webhooks', 'replay', row.id, 'evt_nothere'], { env });
    expect(other).toMatchObject({
      stdout: 'the endpoint has no dead event with the ID evt_nothere\n',
      code: 3,
    });
    expect((await sluice('list')).json).toMatchObject({ webhooks: [{ id: row.id, waiting: 1, dead: 0 }] });
    const waiting = { deliveries: [{ entity: 'deposit/1', state: 'waiting' }] };
    expect(await sluice('deliveries', row.id)).toMatchObject({ json: waiting, code: 0 });
    expect(await sluice('deliveries', row.id, '--state', 'delivered')).toMatchObject({
      json: { deliveries: [] },
      code: 0,
    });
    expect((await service.ledger.deliveries.pendingLines()).map(({ entity }) => entity)).toEqual([
      'deposit/1',
    ]);
  });
});

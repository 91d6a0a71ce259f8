import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SettlementExplanation, SettlementPage } from '../../../src/client/client.ts';
import {
  advanceSubject,
  NONCE_ADVANCE,
  NONCE_CREATE,
  settlementId,
} from '../../../src/domain/settlement-kinds.ts';
import { requestSettlements } from '../../../src/ledger/settlements/settlement-row.ts';
import { meterSettlements } from '../../../src/platform/metrics.ts';
import { deathProof } from '../../domain/evidence.ts';
import { attempt, PLENTY } from '../../ledger/support.ts';
import { authorization, openService, type Service } from '../service.ts';

const ADVANCE = advanceSubject({ address: 'Nonce+Account', nonce: 'Va1ue%2F' });
const ADVANCE_ID = settlementId(NONCE_ADVANCE, ADVANCE);
const CREATE_ID = settlementId(NONCE_CREATE, 'account-2');

let service: Service;

beforeAll(async () => {
  service = await openService();
  const { db, withdrawals, attempts } = service.ledger;
  await requestSettlements(db, NONCE_CREATE, ['account-1']);
  await requestSettlements(db, NONCE_CREATE, ['account-2']);
  await withdrawals.reserve({ id: 'paid', asset: 'SOL', amount: '5', destination: 'SomeWa11et' });
  await requestSettlements(db, NONCE_ADVANCE, [ADVANCE]);
  await attempts.prepare(attempt(CREATE_ID), PLENTY);
  await attempts.storeSignature(CREATE_ID, 1, 'sig-1');
  await attempts.settle(CREATE_ID, 1, { state: 'dead', proof: deathProof() });
  await attempts.prepare(attempt(CREATE_ID, 2), PLENTY);
  await attempts.storeSignature(CREATE_ID, 2, 'sig-2');
});
afterAll(() => service?.close());

async function ask<Body>(url: string): Promise<{ readonly status: number; readonly body: Body }> {
  const answer = await service.app.inject({ url, headers: { authorization } });
  return { status: answer.statusCode, body: answer.json() };
}

async function idsOf(query: string): Promise<readonly string[]> {
  const { body } = await ask<SettlementPage>(`/v1/settlements?${query}`);
  return body.settlements.map(({ id }) => id);
}

async function explain(id: string): Promise<SettlementExplanation> {
  const { body } = await ask<SettlementExplanation>(`/v1/settlements/explain?id=${encodeURIComponent(id)}`);
  return body;
}

describe('the list of settlements', () => {
  it('contains every kind, newest first, page by page', async () => {
    const { body: first } = await ask<SettlementPage>('/v1/settlements?limit=3');
    expect(first.settlements.map(({ id }) => id)).toEqual([ADVANCE_ID, 'paid', CREATE_ID]);
    expect(first.nextCursor).toMatch(/^\d+$/);
    const { body: last } = await ask<SettlementPage>(`/v1/settlements?limit=3&cursor=${first.nextCursor}`);
    expect(last).toMatchObject({ settlements: [{ id: 'nonce-create/account-1' }], nextCursor: null });
  });

  it('shows the newest signature and the workflow', async () => {
    const { body } = await ask<SettlementPage>('/v1/settlements?status=sending');
    expect(body.settlements).toEqual([
      {
        id: CREATE_ID,
        kind: NONCE_CREATE,
        subject: 'account-2',
        status: 'sending',
        reason: null,
        signature: 'sig-2',
        workflowId: 'nonce-create/account-2',
        createdAt: expect.stringMatching(/Z$/),
        updatedAt: expect.stringMatching(/Z$/),
      },
    ]);
    expect((await ask<SettlementPage>('/v1/settlements?kind=withdrawal')).body.settlements).toMatchObject([
      { id: 'paid', subject: 'paid', signature: null, workflowId: 'withdrawal/paid' },
    ]);
  });

  it('can be searched by kind, subject, status and the signature of any attempt', async () => {
    expect(await idsOf(`kind=${NONCE_CREATE}`)).toEqual([CREATE_ID, 'nonce-create/account-1']);
    expect(await idsOf(`kind=${NONCE_CREATE}&status=requested`)).toEqual(['nonce-create/account-1']);
    expect(await idsOf(`subject=${encodeURIComponent(ADVANCE)}`)).toEqual([ADVANCE_ID]);
    expect(await idsOf('signature=sig-1')).toEqual([CREATE_ID]);
    expect(await idsOf('kind=sweep')).toEqual([]);
  });

  it.each(['status=paid', 'limit=0', 'cursor=nonsense', 'asset=SOL', 'kind=%00'])(
    'refuses the malformed filter %s',
    async (query) => {
      const { status, body } = await ask<{ readonly field: string }>(`/v1/settlements?${query}`);
      expect([status, body.field]).toEqual([400, query.split('=')[0]]);
    },
  );
});

describe('the explanation of a settlement', () => {
  it('accepts an id with slashes and percent signs', async () => {
    expect(await explain(ADVANCE_ID)).toMatchObject({
      id: ADVANCE_ID,
      kind: NONCE_ADVANCE,
      subject: ADVANCE,
      status: 'requested',
      terms: null,
      attempt: null,
      attempts: [],
      alerts: [],
    });
    expect(await explain(`${ADVANCE_ID}x`)).toMatchObject({ code: 'NotFound', status: 404 });
    expect((await ask('/v1/settlements/explain')).status).toBe(400);
  });

  it('shows each attempt, the verdict on the live attempt, and the next step', async () => {
    const explained = await explain(CREATE_ID);
    expect(explained).toMatchObject({
      status: 'sending',
      signature: 'sig-2',
      terms: null,
      attempt: { n: 2, state: 'signed', verdict: 'unknown' },
    });
    expect(explained.attempts.map(({ n, state, signature }) => [n, state, signature])).toEqual([
      [1, 'dead', 'sig-1'],
      [2, 'signed', 'sig-2'],
    ]);
    expect(explained.attempts[0]?.proof?.statuses).toHaveLength(2);
    expect(explained.nextStep).toContain('repair the nodes');
  });

  it('names the nodes that can return the missing signatures', async () => {
    const { db, attempts } = service.ledger;
    await requestSettlements(db, NONCE_CREATE, ['account-4']);
    const id = settlementId(NONCE_CREATE, 'account-4');
    await attempts.prepare(attempt(id), PLENTY);
    const explained = await explain(id);
    expect(explained).toMatchObject({ status: 'preparing', waitsFor: 'the missing signatures' });
    expect(explained.nextStep).toContain('`giveSignature`');
  });

  it('names the open alerts about the settlement, and no others', async () => {
    const { alerts } = service.ledger;
    await alerts.raise({ kind: 'maybe_paid', subject: CREATE_ID, message: 'look at the chain' });
    await alerts.raise({ kind: 'workflow_failed', subject: CREATE_ID, message: 'it failed' });
    await alerts.close('workflow_failed', CREATE_ID);
    await alerts.raise({ kind: 'maybe_paid', subject: ADVANCE_ID, message: 'another one' });
    // A webhook may have any id.
    await alerts.raise({ kind: 'webhook_disabled', subject: CREATE_ID, message: 'another room' });
    expect((await explain(CREATE_ID)).alerts).toEqual([
      {
        position: expect.stringMatching(/^\d+$/),
        kind: 'maybe_paid',
        message: 'look at the chain',
        raisedAt: expect.stringMatching(/Z$/),
      },
    ]);
  });

  it('has the terms of a withdrawal at the top level, and the answer of the withdrawal route', async () => {
    const explained = await explain('paid');
    expect(explained.terms).toEqual({ asset: 'SOL', amount: '5', destination: 'SomeWa11et' });
    expect(explained).toMatchObject((await ask<object>('/v1/withdrawals/paid/explain')).body);
    expect((await ask(`/v1/withdrawals/${encodeURIComponent(CREATE_ID)}/explain`)).status).toBe(400);
  });

  it('omits customers and payments where none exist', async () => {
    const { settlements } = service.ledger;
    const id = 'nonce-create/account-1';
    await settlements.move(id, 'held', { code: 'dead_attempt_landed', message: 'it has landed' });
    const held = await explain(id);
    expect(held.nextStep).toContain('`sluice settlements mark-paid <id> --reason <text>` ends it as paid');
    await settlements.drop(ADVANCE_ID, { code: 'needless', message: 'the nonce is used up' });
    const dropped = await explain(ADVANCE_ID);
    expect(dropped.waitsFor).toBe('nothing: it has ended, and none of its transactions landed');
  });
});

describe('an operator decision that a settlement is paid', () => {
  const endAsPaid = (id: string, body: object) =>
    service.app.inject({
      method: 'POST',
      url: `/v1/settlements/paid?id=${encodeURIComponent(id)}`,
      headers: { authorization },
      payload: body,
    });

  it('ends a settlement of any kind, but only while there is evidence of a payment', async () => {
    const { db, alerts } = service.ledger;
    await requestSettlements(db, NONCE_CREATE, ['account-3']);
    const id = settlementId(NONCE_CREATE, 'account-3');
    const early = await endAsPaid(id, { reason: 'the account exists' });
    expect([early.statusCode, early.json().code]).toEqual([409, 'NotCancellable']);
    await alerts.raise({ kind: 'maybe_paid', subject: id, message: 'look at the chain' });
    const ended = await endAsPaid(id, { reason: 'the account exists' });
    expect(ended.statusCode).toBe(200);
    expect(ended.json()).toMatchObject({
      id,
      status: 'cancelled',
      reason: { code: 'paid_already', message: expect.stringContaining('the account exists') },
    });
  });

  it('is refused for a missing settlement and for a missing reason, each by name', async () => {
    const unknown = await endAsPaid('nonce-create/missing', { reason: 'seen' });
    expect([unknown.statusCode, unknown.json().code]).toEqual([404, 'NotFound']);
    const silent = await endAsPaid(CREATE_ID, {});
    expect([silent.statusCode, silent.json().field]).toEqual([400, 'reason']);
  });
});

describe('the gauge of unfinished settlements', () => {
  it('counts by kind and status, and shows 0 for ended settlements', async () => {
    const { db, settlements, settlementViews } = service.ledger;
    const metrics = new Registry();
    const show = meterSettlements(metrics, () => settlementViews.countUnfinished());
    const series = (kind: string, status: string, count: number): string =>
      `sluice_settlements_unfinished{kind="${kind}",status="${status}"} ${count}\n`;
    await requestSettlements(db, 'sweep', ['a', 'b']);
    await show();
    const before = await metrics.metrics();
    expect(before).toContain(series('sweep', 'requested', 2));
    expect(before).toContain(series('withdrawal', 'requested', 1));
    expect(before).toContain(series('withdrawal', 'held', 0));
    for (const subject of ['a', 'b'])
      await settlements.drop(settlementId('sweep', subject), { code: 'needless', message: 'swept' });
    await show();
    const after = await metrics.metrics();
    expect(after).toContain(series('sweep', 'requested', 0));
    expect(after).not.toContain('cancelled');
    expect(after).not.toContain('subject');
  });
});

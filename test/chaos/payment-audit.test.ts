import { UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import type { AccessUse } from '../../chaos/payments/access.ts';
import { auditPayments, type PaymentEvidence } from '../../chaos/payments/audit.ts';
import type { Bought } from '../../chaos/payments/buyer.ts';
import {
  ACCESSES,
  drawPurchases,
  FLOWS,
  PASS_FLOWS,
  type PlannedPurchase,
} from '../../chaos/payments/plan.ts';
import type { Payment } from '../../src/client/client.ts';

const PURCHASE: PlannedPurchase = {
  item: 1,
  subject: '1',
  flow: 'get',
  atMs: 0,
  form: 'v2',
  identified: true,
  hangUpMs: null,
  authorized: false,
  access: null,
  refusals: 0,
  slowMs: 0,
};
const BOUGHT: Bought = {
  purchase: PURCHASE,
  signatures: ['buyer'],
  presented: 1,
  successes: 0,
  pass: null,
  end: { kind: 'answered', paidBy: 'payer' },
  last: '200',
};
const ROW = { id: 'p1', state: 'served', signature: 'payer', reason: null } as Payment;
const REQUEST = { subject: '1', paymentId: 'p1', idempotencyKey: 'p1', status: 200 } as const;
const SOUND: PaymentEvidence = {
  landed: [{ signatures: ['payer', 'buyer'] }],
  bought: [BOUGHT],
  record: [ROW],
  requests: [REQUEST, REQUEST],
  uses: [],
};
const CLEAN = { made: 1, served: 1, refundable: 0, unpaidAnswers: 0, lost: 0, servedTwice: 0, passes: 0 };

const judged = (change: Partial<PaymentEvidence>) => auditPayments({ ...SOUND, ...change });
const purchased = (purchase: Partial<PlannedPurchase>, change: Partial<Bought> = {}): Bought => ({
  ...BOUGHT,
  ...change,
  purchase: { ...PURCHASE, ...purchase },
});

describe('the audit of sales', () => {
  it('passes if each payment in the blocks is served for one request, which may be repeated', () => {
    expect(judged({})).toEqual({ payments: CLEAN, findings: [] });
  });

  it('counts an answer without a payment in the blocks, and an answer that another payment has paid', () => {
    const end = { kind: 'answered', paidBy: 'other' } as const;
    expect(judged({ landed: [] }).payments).toMatchObject({ made: 0, unpaidAnswers: 1 });
    expect(judged({ bought: [{ ...BOUGHT, end }] }).payments).toMatchObject({ unpaidAnswers: 1 });
  });

  it('accepts an owed payment of the same wallet that is served in place of a new one', () => {
    const replaced = purchased({ item: 2 }, { signatures: ['replaced'] });
    expect(judged({ bought: [BOUGHT, replaced] })).toEqual({ payments: CLEAN, findings: [] });
  });

  it('counts a landed payment without a row as lost, unless its buyer has the item', () => {
    const bought = [{ ...BOUGHT, end: { kind: 'none' } as const }];
    expect(judged({ bought, record: [] }).payments).toMatchObject({ served: 0, lost: 1 });
    expect(judged({ record: [] }).payments).toMatchObject({ served: 1, lost: 0 });
  });

  it('accepts a refundable payment only if its request must not be repeated', () => {
    const [record, requests] = [[{ ...ROW, state: 'refundable' } as Payment], [REQUEST]];
    const end = { kind: 'refused', reason: 'the payment is recorded as refundable' } as const;
    const once = judged({ record, requests, bought: [purchased({ flow: 'post-once' }, { end })] });
    expect(once).toEqual({ payments: { ...CLEAN, served: 0, refundable: 1 }, findings: [] });
    expect(judged({ record, requests, bought: [{ ...BOUGHT, end }] }).findings).toHaveLength(2);
  });

  it.each([
    ['two requests', { requests: [REQUEST, { ...REQUEST, subject: '2' }] }],
    ['one request again that must not be repeated', { bought: [purchased({ flow: 'post-once' })] }],
    [
      'two successes of the facilitator',
      { requests: [], bought: [purchased({ flow: 'facilitator', identified: false }, { successes: 2 })] },
    ],
  ])('counts a payment that is served for %s', (_, change) => {
    expect(judged(change).payments).toMatchObject({ servedTwice: 1 });
  });

  it('reports a request at the upstream for a payment that did not land, unless the route is served first', () => {
    const requests = [REQUEST, { ...REQUEST, paymentId: 'p2', idempotencyKey: 'p2' }];
    expect(judged({ requests }).findings).toHaveLength(1);
    expect(judged({ requests, bought: [purchased({ flow: 'serve-first' })] }).findings).toEqual([]);
  });

  it('reports a buyer who paid twice', () => {
    const landed = [...SOUND.landed, { signatures: ['again'] }];
    const bought = [{ ...BOUGHT, signatures: ['buyer', 'again'] }];
    expect(judged({ landed, bought }).findings).toContainEqual(expect.stringContaining('paid 2 times'));
  });
});

describe('the audit of access passes', () => {
  const pass = (id: string) => new UnsecuredJWT({ jti: id }).encode();
  const purchase: PlannedPurchase = { ...PURCHASE, flow: 'pass', access: 'pass' };
  const bought = [{ ...BOUGHT, purchase, pass: pass('p1') }];
  const record = [{ ...ROW, route: 'GET /pass' } as Payment];
  const use: AccessUse = {
    purchase,
    access: 'pass',
    pass: pass('p1'),
    subject: 'more',
    end: 'served',
    last: '',
  };
  const served = { subject: 'more', paymentId: 'p1', idempotencyKey: 'u1', status: 200 } as const;
  const requests = [REQUEST, served];
  const sound = { bought, record, uses: [use], requests };

  it('passes if each request has the payment of its pass and an Idempotency-Key of its own', () => {
    expect(judged(sound)).toEqual({ payments: { ...CLEAN, passes: 1 }, findings: [] });
    const forged = { ...use, access: 'forged', end: 'refused' } as const;
    expect(judged({ ...sound, uses: [forged], requests: [REQUEST] }).findings).toEqual([]);
    const signIn = { ...use, access: 'sign-in', pass: pass('another of the wallet') } as const;
    expect(judged({ ...sound, uses: [signIn] }).findings).toEqual([]);
  });

  it.each([
    ['an answer to a forged pass', { uses: [{ ...use, access: 'forged' }] }, 2, 1],
    ['an answer to a wallet that has not paid', { uses: [{ ...use, access: 'stranger' }] }, 2, 1],
    ['a refused pass', { uses: [{ ...use, end: 'refused' }], requests: [REQUEST] }, 1, 0],
    ['a pass of another payment', { uses: [{ ...use, pass: pass('p2') }] }, 1, 0],
    ['a pass of another route', { record: [{ ...ROW, route: 'GET /get' } as Payment] }, 1, 0],
    ['a pass for an answer that is not paid', { bought: [{ ...BOUGHT, pass: pass('p2') }] }, 1, 0],
    ['the key of the paid request', { requests: [REQUEST, { ...served, idempotencyKey: 'p1' }] }, 1, 0],
    ['two requests with one key', { requests: [REQUEST, served, served] }, 1, 0],
  ] as const)('reports %s', (_, change, findings, unpaidAnswers) => {
    const verdict = judged({ ...sound, ...change });
    expect(verdict.findings).toHaveLength(findings);
    expect(verdict.payments).toMatchObject({ unpaidAnswers, servedTwice: 0 });
  });
});

it('the purchases of a run have all flows and forms, and a shared target has several buyers at one moment', () => {
  const plan = { seed: 7, payments: 300, minutes: 6 };
  const drawn = drawPurchases(plan);
  expect(drawn).toEqual(drawPurchases(plan));
  expect(new Set(drawn.map(({ flow }) => flow))).toEqual(new Set(FLOWS));
  const kinds = new Set(drawn.map(({ flow, form }) => `${flow} ${form}`));
  expect(kinds.size).toBe((FLOWS.length - 1) * 4 + 2);
  const accesses = drawn.filter(({ flow }) => PASS_FLOWS.has(flow)).map(({ access }) => access);
  expect(new Set(accesses)).toEqual(new Set([null, ...ACCESSES]));
  const shared = drawn.filter(({ flow }) => flow === 'shared');
  const subjects = [...new Set(shared.map(({ subject }) => subject))];
  const groups = subjects.map((subject) => shared.filter((one) => one.subject === subject));
  expect(Math.max(...groups.map(({ length }) => length))).toBe(6);
  expect(groups.map((all) => new Set(all.map(({ atMs }) => atMs)).size)).toEqual(groups.map(() => 1));
});

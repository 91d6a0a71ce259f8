import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { closeGapAudit } from '../../../src/deposits/backfill/gap-audit.ts';
import { rangeOf } from '../../../src/domain/slots.ts';
import { address, childOf, START } from '../chain-of-blocks.ts';
import { imported, useDepositLedgers } from '../deposit-ledger.ts';
import { codeOf } from '../support.ts';

const use = useDepositLedgers();
const GAP = { from: 101n, to: 109n };
const [ANN, BOB] = [address('ann'), address('bob')].toSorted() as [string, string];

let record = '';

beforeEach(async () => {
  await imported(use.ledger, ANN, BOB);
  await use.ledger.gaps.open(START, { ...childOf(START, { skipped: 9 }), parentSlot: 109n, height: 99n });
  await use.ledger.gaps.close({ ...GAP, actor: 'ops', reason: 'lost' });
  record = await use.ledger.continuity.record();
});

const wallets = () => use.ledger.gapAudits.wallets(GAP, null, 10);
const isDue = async () => (await use.ledger.gapAudits.due(10)).length === 1;
const standing = () => use.ledger.gapAudits.of(GAP);

/** The gap has been unshown for so long. */
async function unshownFor(time: string): Promise<void> {
  await sql`update scan_gap set unshown_since = now() - ${time}::interval`.execute(use.ledger.db);
}

it('a walk without blocks settles nothing, and is no reason to ask every wallet again', async () => {
  const { gapAudits } = use.ledger;
  await gapAudits.noteUnshown(GAP, record);
  await gapAudits.noteWallets(GAP, { audited: [ANN], unread: [BOB] }, 'in vain', record);
  expect(await wallets()).toEqual([ANN, BOB]);
  await gapAudits.end(GAP, record);
  expect(await standing()).toMatchObject({ auditedAt: null, unread: 1, wallets: [BOB] });
  expect(await wallets()).toEqual([BOB]);
  await gapAudits.noteWallets(GAP, { audited: [BOB], unread: [] }, 'in vain', record);
  await gapAudits.end(GAP, record);
  expect(await standing()).toMatchObject({ auditedAt: null, unshownSince: expect.any(Date), unread: 0 });
  expect(await wallets()).toEqual([]);
});

it('once its blocks are shown, a gap is asked for as if nobody had, also where that walk is cut off', async () => {
  const { gapAudits } = use.ledger;
  await gapAudits.noteUnshown(GAP, record);
  await gapAudits.end(GAP, record);
  for (let times = 0; times < 2; times += 1) {
    await gapAudits.begin(GAP, record);
    expect(await standing()).toMatchObject({ walkedAt: null, unshownSince: null, auditedAt: null });
    expect([await wallets(), await isDue()]).toEqual([[ANN, BOB], true]);
  }
  await gapAudits.noteWallets(GAP, { audited: [ANN, BOB], unread: [] }, 'counts', record);
  await gapAudits.end(GAP, record);
  expect(await standing()).toMatchObject({ auditedAt: expect.any(Date) });
  expect(await isDue()).toBe(false);
});

it('a page of a walk in vain that comes late, as its process stood still, settles nothing of the walk that counts', async () => {
  const { gapAudits } = use.ledger;
  await gapAudits.noteUnshown(GAP, record);
  await gapAudits.begin(GAP, record);
  await gapAudits.noteWallets(GAP, { audited: [ANN], unread: [BOB] }, 'counts', record);
  const late = gapAudits.noteWallets(GAP, { audited: [ANN, BOB], unread: [] }, 'in vain', record);
  expect(await codeOf(late)).toBe('Unavailable');
  await gapAudits.end(GAP, record);
  expect(await standing()).toMatchObject({ auditedAt: null, unread: 1, wallets: [BOB] });
});

it('a page that comes late leaves no wallet unread of a gap that is audited', async () => {
  const { gapAudits } = use.ledger;
  await gapAudits.end(GAP, record);
  for (const walk of ['in vain', 'counts'] as const)
    await gapAudits.noteWallets(GAP, { audited: [], unread: [BOB] }, walk, record);
  expect(await standing()).toMatchObject({ auditedAt: expect.any(Date), unread: 0 });
});

it('is looked at again after as long as its blocks are not shown, and after an hour at most', async () => {
  const { gapAudits, db } = use.ledger;
  await gapAudits.noteUnshown(GAP, record);
  await gapAudits.end(GAP, record);
  await unshownFor('20 minutes');
  await gapAudits.end(GAP, record);
  expect(await isDue()).toBe(false);
  await unshownFor('30 days');
  await gapAudits.end(GAP, record);
  const { rows } = await sql<{
    isBound: boolean;
  }>`select audit_after <= now() + interval '1 hour' as "isBound"
    from scan_gap`.execute(db);
  expect([await isDue(), rows]).toEqual([false, [{ isBound: true }]]);
});

it('nothing of it is changed by a run that began in another record', async () => {
  const { gapAudits } = use.ledger;
  await gapAudits.noteUnshown(GAP, 'another');
  await gapAudits.noteWallets(GAP, { audited: [], unread: [BOB] }, 'counts', 'another');
  expect(await gapAudits.end(GAP, 'another')).toBeNull();
  expect(await standing()).toEqual({
    walkedAt: null,
    unshownSince: null,
    auditedAt: null,
    unread: 0,
    wallets: [],
  });
});

it('the end of a run that began in another record is told to nobody', async () => {
  const { alerts, gapAudits } = use.ledger;
  const range = { address: null, ...rangeOf(GAP), repair: true, cause: 'gap' } as const;
  const open = async () => (await alerts.list({ open: true, limit: 10 })).rows.map(({ subject }) => subject);
  await closeGapAudit(use, { ...range, record: 'another' });
  expect(await open()).toEqual([]);
  await gapAudits.noteUnshown(GAP, record);
  await closeGapAudit(use, { ...range, record });
  await closeGapAudit(use, { ...range, record: 'another' });
  expect(await open()).toEqual(['101-109']);
});

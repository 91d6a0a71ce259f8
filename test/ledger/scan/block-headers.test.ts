import { expect, it } from 'vitest';
import { address, chain, START } from '../chain-of-blocks.ts';
import { commit, importWallets, useDepositLedgers } from '../deposit-ledger.ts';
import { attempt, newId, PLENTY } from '../support.ts';
import { terms } from '../terms.ts';

const use = useDepositLedgers();
const OPS = { actor: 'ops', reason: 'to see' };
/** Slots 101 to 120, the cursor on the last. */
const BLOCKS = chain(START, ...Array.from({ length: 20 }, () => []));
const retainedSlots = 5n;
const auditSlots = 18n;

async function lowest(): Promise<bigint | undefined> {
  return (await use.ledger.scan.headersBetween(0n, 200n))[0]?.slot;
}

async function prune(): Promise<bigint | undefined> {
  await use.other.blockHeaders.prune({ retainedSlots, auditSlots });
  return lowest();
}

it('headers below the bound are pruned in batches, the oldest first', async () => {
  await commit(use.ledger, BLOCKS);
  expect(await use.ledger.blockHeaders.prune()).toBe(0);
  expect(await use.ledger.blockHeaders.prune({ retainedSlots, maxDeleted: 3 })).toBe(3);
  expect(await lowest()).toBe(103n);
  expect(await use.ledger.blockHeaders.prune({ retainedSlots })).toBe(12);
  expect(await lowest()).toBe(115n);
  expect(await use.ledger.scan.cursor()).toMatchObject({ slot: 120n });
});

it('pruning keeps each header that a live attempt may need for its proof of death', async () => {
  await commit(use.ledger, BLOCKS);
  const id = newId();
  await use.ledger.withdrawals.reserve(terms(id));
  await use.ledger.attempts.prepare(attempt(id, 1, { blockhashSlot: 107n }), PLENTY);
  expect(await prune()).toBe(107n);
  await use.ledger.attempts.storeSignature(id, 1, 'signed');
  expect(await prune()).toBe(107n);
  await use.ledger.attempts.settle(id, 1, { state: 'dead', proof: {} });
  expect(await prune()).toBe(115n);
});

it('pruning keeps each header that links the rescan of a closed gap or that an address with a past needs', async () => {
  await commit(use.ledger, BLOCKS);
  const at = { blockhash: 'x', height: 1n, ...OPS, endedAt: new Date() };
  const gap = { fromSlot: 106n, toSlot: 108n };
  await use.ledger.db
    .insertInto('scanGap')
    .values({ ...at, ...gap, state: 'closed' })
    .execute();
  const rescan = await use.ledger.backfills.begin({ from: 106n, to: 108n, ...OPS });
  await use.ledger.addresses.import([{ address: address('past'), path: 'm' }], 104n);
  expect(await prune()).toBe(104n);
  await use.ledger.importAudits.markAudited(
    address('past'),
    { from: 104n, to: 200n },
    await use.ledger.continuity.databaseId(),
  );
  await use.ledger.backfills.end(rescan, { blocks: 0, unread: [], read: [] });
  expect(await prune()).toBe(105n);
  await use.ledger.backfills.end(rescan, { blocks: 3, unread: [], read: [gap] });
  expect(await prune()).toBe(115n);
  await importWallets(use.ledger, address('new'));
});

it('pruning keeps each header that the audit of an assigned address needs', async () => {
  await commit(use.ledger, BLOCKS);
  await importWallets(use.ledger, address('ann'));
  await use.ledger.addresses.assign('user');
  await use.ledger.addresses.import([{ address: address('ann'), path: 'm/0' }], 104n);
  expect(await use.ledger.importAudits.listDue(2)).toMatchObject([{ state: 'assigned', since: 104n }]);
  expect(await prune()).toBe(104n);
});

it('an audit that never completes keeps a bounded number of headers', async () => {
  await commit(use.ledger, BLOCKS);
  await use.ledger.addresses.import([{ address: address('old'), path: 'm' }], 1n);
  expect(await prune()).toBe(120n - auditSlots);
});

it('pruning keeps each header that a rescan reads, and a rescan of pruned headers is refused', async () => {
  await commit(use.ledger, BLOCKS);
  const range = { from: 103n, to: 110n };
  const begun = await use.ledger.backfills.begin({ ...range, ...OPS });
  expect(await prune()).toBe(102n);
  expect(await use.ledger.backfills.begin({ ...range, ...OPS })).toMatchObject({ position: begun.position });
  await use.ledger.backfills.end(begun, { blocks: 0, unread: [], read: [] });
  expect(await prune()).toBe(115n);
  await expect(use.ledger.backfills.begin({ ...range, ...OPS })).rejects.toThrow(
    'slots before 115 cannot be read again: the block headers up to slot 114 are deleted',
  );
  await use.ledger.backfills.begin({ from: 115n, to: 120n, ...OPS });
});

const RANGE = { from: 103n, to: 110n };
const newest = async () => (await use.ledger.backfills.list({ limit: 1 })).rows[0];

it('a rescan whose run has ended is given up, with the error of its last attempt or with that reason', async () => {
  await commit(use.ledger, BLOCKS);
  await use.ledger.backfills.begin({ ...RANGE, ...OPS });
  await use.ledger.backfills.giveUp(RANGE, 'cancelled');
  await use.ledger.backfills.giveUp(RANGE, 'again');
  expect(await newest()).toMatchObject({ trouble: 'cancelled', endedAt: expect.any(Date) });
  expect(await use.ledger.backfills.listOpen(10)).toEqual([]);
});

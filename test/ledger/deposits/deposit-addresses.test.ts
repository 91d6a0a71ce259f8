import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type KyselyPlugin, QueryNode, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { nodeProgram } from '../../../devkit/localstack/program.ts';
import { DepositAddresses, lockUnassigned } from '../../../src/ledger/deposits/deposit-addresses.ts';
import { COMPILED } from '../../support/compiled.ts';
import { address, chain, inflow, START } from '../chain-of-blocks.ts';
import {
  commit,
  confirmAll,
  deleteDeposits,
  importWallets,
  useDepositLedgers,
  waitForLockWaits,
} from '../deposit-ledger.ts';
import { codeOf } from '../support.ts';

const use = useDepositLedgers();
const [ANN, BEN, HOT] = [address('ann'), address('ben'), address('hot')];
const run = promisify(execFile);

/** The choice of a free address, with the rows of its start, continues once this lock is released. */
const CHOICE = 4_711;
const slowChoice: KyselyPlugin = {
  transformQuery: ({ node }) =>
    node.kind === 'SelectQueryNode' && node.endModifiers !== undefined && node.limit !== undefined
      ? QueryNode.cloneWithWhere(
          node,
          sql`(select pg_advisory_xact_lock_shared(${CHOICE})::text) is not null`.toOperationNode(),
        )
      : node,
  transformResult: async ({ result }) => result,
};

/** A transaction that holds locks on these addresses. */
async function holding(...addresses: readonly string[]) {
  const slow = await use.other.db.startTransaction().execute();
  await lockUnassigned(slow, addresses).catch(async (error) => {
    await slow.rollback().execute();
    throw error;
  });
  return slow;
}

/** A user requests an address while another transaction holds ANN, and waits for it or gets another one. */
async function assigningWhileHeld() {
  const slow = await holding(ANN);
  const assigning = use.ledger.addresses.assign('user-1');
  await Promise.race([waitForLockWaits(use.ledger.db), assigning]);
  return { slow, assigning };
}

const paid = (wallet: string) => sql`insert into deposit
  (signature, slot, blockhash, account, wallet, asset, amount, state, finalized_at)
  values ('s', 101, 'b101', ${wallet}, ${wallet}, 'SOL', 5, 'pending', now())`;
const givenAway = (wallet: string) => sql`update deposit_address
  set state = 'assigned', user_ref = 'user-2', assigned_at = now() where address = ${wallet}`;

describe('a deposit address', () => {
  it('is assigned to one user for ever, in the order of import', async () => {
    await importWallets(use.ledger, BEN, ANN);
    const first = await use.ledger.addresses.assign('user-1');
    expect(first).toMatchObject({ address: BEN, path: 'm/0', state: 'assigned', userRef: 'user-1' });
    expect(await use.other.addresses.assign('user-1')).toEqual(first);
    expect(await use.ledger.addresses.byUser('user-1')).toEqual(first);
    expect(await use.ledger.addresses.byAddress(BEN)).toEqual(first);
    expect(await use.ledger.addresses.assign('user-2')).toMatchObject({ address: ANN });
    expect(await codeOf(use.ledger.addresses.assign('user-3'))).toBe('NoFreeAddress');
    expect(await use.ledger.addresses.byUser('user-3')).toBeUndefined();
  });

  it('is unique to each user, although two processes assign at once', async () => {
    await importWallets(use.ledger, ...Array.from({ length: 60 }, (_, index) => address(`pool-${index}`)));
    const { command, args } = nodeProgram(new URL('../assign-process.ts', import.meta.url), [], COMPILED);
    const processes = await Promise.all(
      [1, 2].map(() => run(command, [...args, use.url, '50'], { encoding: 'utf8' })),
    );
    const [mine, theirs] = processes.map(({ stdout }) => stdout.trim().split('\n'));
    expect(mine).toEqual(theirs);
    expect(new Set(mine).size).toBe(50);
    expect(await use.ledger.addresses.freeCount()).toBe(10);
    expect(await use.ledger.addresses.freeCount(3)).toBe(3);
  });

  it('is not assigned before the scan has begun, as an earlier payment would be missed', async () => {
    await deleteDeposits(use.ledger.db);
    await importWallets(use.ledger, ANN);
    expect(await codeOf(use.ledger.addresses.assign('user-1'))).toBe('Unavailable');
    await use.ledger.scan.start(START);
    expect(await use.ledger.addresses.assign('user-1')).toMatchObject({ address: ANN, watchedAfter: null });
  });

  it('is not waited for while another request is about to assign it', async () => {
    await importWallets(use.ledger, ANN, BEN);
    const { slow, assigning } = await assigningWhileHeld();
    await slow.commit().execute();
    expect(await assigning).toMatchObject({ address: BEN });
  });

  it('is waited for where it is the last one, as the other request may fail', async () => {
    await importWallets(use.ledger, ANN);
    const { slow, assigning } = await assigningWhileHeld();
    await slow.rollback().execute();
    expect(await assigning).toMatchObject({ address: ANN });
  });

  it.each([
    ['was paid', paid],
    ['was assigned to another user', givenAway],
  ])(
    'that %s during the wait for its lock is not locked while the request waits for the next one',
    async (_what, change) => {
      // A commit of deposits locks addresses in its own order, not in the order of the import.
      const [next = '', first = ''] = [ANN, BEN].toSorted();
      await importWallets(use.ledger, first, next);
      const changing = await holding(first);
      const slow = await holding(next);
      const assigning = use.ledger.addresses.assign('user-1');
      await waitForLockWaits(use.ledger.db);
      await slow.rollback().execute();
      const recording = holding(first, next);
      await waitForLockWaits(use.ledger.db, 2);
      await change(first).execute(changing);
      await changing.commit().execute();
      const recorded = recording.then((trx) => trx.rollback().execute());
      const [given] = await Promise.all([assigning, recorded]);
      expect(given).toMatchObject({ address: next });
    },
  );

  it('is not assigned where a deposit came between its choice and its lock', async () => {
    const { ledger, other } = use;
    await importWallets(ledger, ANN, BEN);
    const holder = await other.db.startTransaction().execute();
    await sql`select pg_advisory_xact_lock(${CHOICE})`.execute(holder);
    const assigning = new DepositAddresses(ledger.db.withPlugin(slowChoice)).assign('user-1');
    await waitForLockWaits(ledger.db);
    expect(await commit(other, chain(START, [inflow(ANN)]))).toBe('committed');
    await holder.commit().execute();
    expect(await assigning).toMatchObject({ address: BEN });
    expect(await ledger.addresses.byAddress(ANN)).toMatchObject({ state: 'free', userRef: null });
  });

  it('is known when it is imported again, and stays assigned to its user', async () => {
    const entries = [ANN, BEN, ANN].map((one) => ({ address: one, path: 'm' }));
    expect(await use.ledger.addresses.import(entries)).toEqual({ imported: 2, known: 1 });
    await use.ledger.addresses.assign('user-1');
    const version = await use.ledger.watched.version();
    expect(await use.ledger.addresses.import(entries)).toEqual({ imported: 0, known: 3 });
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ userRef: 'user-1', since: null });
    expect(await use.ledger.watched.version()).toBe(version);
  });

  it('is refused under another path, alone or in a list that is then refused whole, and does not change', async () => {
    await importWallets(use.ledger, ANN);
    const other = { address: ANN, path: 'm/9' };
    const list = [
      ...Array.from({ length: 5_001 }, (_, n) => ({ address: address(`n${n}`), path: 'm' })),
      other,
    ];
    const twice = [BEN, BEN].map((one, index) => ({ address: one, path: `m/${index}` }));
    for (const entries of [[other], list, twice])
      await expect(use.ledger.addresses.import(entries)).rejects.toMatchObject({
        code: 'InvalidRequest',
        context: { field: 'path' },
      });
    expect(await use.ledger.addresses.freeCount()).toBe(1);
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ path: 'm/0' });
    await importWallets(use.ledger, ANN);
  });

  it('with a past is not assigned until its past is audited', async () => {
    await use.ledger.addresses.import([{ address: ANN, path: 'm' }], 40n);
    expect(await use.ledger.importAudits.listDue(10)).toMatchObject([
      { address: ANN, state: 'auditing', since: 40n, watchedAfter: 100n },
    ]);
    expect(await codeOf(use.ledger.addresses.assign('user-1'))).toBe('NoFreeAddress');
    await use.ledger.importAudits.markAudited(
      ANN,
      { from: 40n, to: 200n },
      await use.ledger.continuity.databaseId(),
    );
    await use.ledger.addresses.import([{ address: ANN, path: 'm' }], 40n);
    expect(await use.ledger.importAudits.listDue(10)).toEqual([]);
    await use.ledger.addresses.import([{ address: ANN, path: 'm' }], 30n);
    expect(await use.ledger.importAudits.listDue(10)).toMatchObject([{ since: 30n }]);
    const old = {
      header: { slot: 35n, blockhash: 'b35', time: null },
      finding: { inflows: [inflow(ANN)], outflows: [], spends: [] },
    };
    const watchVersion = await use.ledger.watched.version();
    await use.ledger.scan.upsert({ blocks: [old], watchVersion });
    await use.ledger.importAudits.markAudited(
      ANN,
      { from: 30n, to: 200n },
      await use.ledger.continuity.databaseId(),
    );
    expect(await codeOf(use.ledger.addresses.assign('user-1'))).toBe('NoFreeAddress');
    await confirmAll(use.ledger);
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ state: 'used' });
  });

  it('that is imported with an earlier slot before its audit ends is audited from that slot before it is assigned', async () => {
    for (const since of [40n, 30n, 35n])
      await use.ledger.addresses.import([{ address: ANN, path: 'm' }], since);
    expect(await use.ledger.importAudits.listDue(10)).toMatchObject([{ since: 30n }]);
    await use.ledger.importAudits.markAudited(
      ANN,
      { from: 40n, to: 200n },
      await use.ledger.continuity.databaseId(),
    );
    expect(await use.ledger.importAudits.listDue(10)).toMatchObject([{ since: 30n, state: 'auditing' }]);
    await use.ledger.importAudits.markAudited(
      ANN,
      { from: 30n, to: 200n },
      await use.ledger.continuity.databaseId(),
    );
    expect(await use.ledger.addresses.assign('user-1')).toMatchObject({ address: ANN });
  });

  it('that is assigned or used is audited when it is imported with an earlier slot, and keeps its state', async () => {
    const { addresses, importAudits } = use.ledger;
    await importWallets(use.ledger, ANN, BEN);
    await addresses.assign('user-1');
    await commit(use.ledger, chain(START, [inflow(BEN)]));
    await confirmAll(use.ledger);
    const entries = [ANN, BEN].map((one, index) => ({ address: one, path: `m/${index}` }));
    expect(await addresses.import(entries, 40n)).toEqual({ imported: 0, known: 2 });
    const due = async () =>
      (await importAudits.listDue(10)).map((audit) => [audit.address, audit.state, audit.since]);
    expect(await due()).toEqual([
      [ANN, 'assigned', 40n],
      [BEN, 'used', 40n],
    ]);
    await importAudits.markAudited(ANN, { from: 40n, to: 200n }, await use.ledger.continuity.databaseId());
    expect(await due()).toEqual([[BEN, 'used', 40n]]);
    await importAudits.markAudited(BEN, { from: 40n, to: 200n }, await use.ledger.continuity.databaseId());
    await addresses.import(entries, 50n);
    expect(await due()).toEqual([]);
    expect(await addresses.byUser('user-1')).toMatchObject({ address: ANN, state: 'assigned' });
  });

  it('that is paid while its audit is due is audited to the end, and is not assigned', async () => {
    await use.ledger.addresses.import([{ address: ANN, path: 'm' }], 40n);
    await commit(use.ledger, chain(START, [inflow(ANN)]));
    await confirmAll(use.ledger);
    expect(await use.ledger.importAudits.listDue(10)).toMatchObject([{ address: ANN, state: 'used' }]);
    await use.ledger.importAudits.markAudited(
      ANN,
      { from: 40n, to: 200n },
      await use.ledger.continuity.databaseId(),
    );
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ state: 'used' });
  });

  it('is not a wallet that pays withdrawals', async () => {
    await importWallets(use.ledger, ANN);
    await use.ledger.watched.addHot([HOT, HOT]);
    const version = await use.ledger.watched.version();
    await use.ledger.watched.addHot([HOT]);
    expect(await codeOf(use.ledger.watched.addHot([BEN, ANN]))).toBe('InvalidRequest');
    expect(await codeOf(importWallets(use.ledger, BEN, HOT))).toBe('InvalidRequest');
    expect(await use.ledger.watched.watchKindsOf([ANN, BEN, HOT])).toEqual(
      new Map([
        [ANN, 'deposit'],
        [HOT, 'hot'],
      ]),
    );
    expect(await use.ledger.watched.version()).toBe(version);
  });
});

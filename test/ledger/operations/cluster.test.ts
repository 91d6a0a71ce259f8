import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { openLedger } from '../../../src/ledger/ledger.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { attempt, codeOf, newId, PLENTY, useLedger } from '../support.ts';
import { terms } from '../terms.ts';

const use = useLedger();

afterEach(() => use.ledger.db.deleteFrom('cluster').execute());

describe('a record', () => {
  it('belongs to the first cluster that a worker shows it, and to no other, with both named', async () => {
    const { cluster } = use.ledger;
    expect(await cluster.get()).toBeNull();
    await cluster.bind('ours');
    await cluster.bind('ours');
    const refusal = { code: 'WrongCluster', message: expect.stringMatching(/theirs.*ours/) };
    await expect(cluster.bind('theirs')).rejects.toMatchObject(refusal);
    await expect(cluster.check('theirs')).rejects.toMatchObject(refusal);
    expect(await cluster.get()).toMatchObject({ genesisHash: 'ours' });
  });

  it('is not bound by those who only read', async () => {
    await use.ledger.cluster.check('theirs');
    expect(await use.ledger.cluster.get()).toBeNull();
  });

  it('is bound by one of many workers that start at once', async () => {
    const ledgers = await Promise.all(Array.from({ length: 4 }, () => openLedger(use.url)));
    const codes = await Promise.all(
      ledgers.map((one, index) => codeOf(one.cluster.bind(`cluster ${index}`))),
    );
    await Promise.all(ledgers.map((one) => one.close()));
    expect(codes.toSorted()).toEqual(['WrongCluster', 'WrongCluster', 'WrongCluster', 'none']);
  });

  it('forgets its cluster, with its positions there, until anything was asked for', async () => {
    const { cluster, walletHistory, continuity, withdrawals, attempts, scan } = use.ledger;
    await cluster.bind('theirs');
    await walletHistory.advance('hot', 900n);
    await continuity.pulse();
    const hashes = { blockhash: 'theirs', previousBlockhash: 'before' };
    await scan.start({ slot: 900n, parentSlot: 899n, height: 800n, time: null, ...hashes });
    expect(await cluster.forget()).toMatchObject({ genesisHash: 'theirs' });
    expect(await cluster.forget()).toBeNull();
    expect(await walletHistory.judgedTo('hot')).toBeNull();
    expect(await scan.cursor()).toBeNull();
    await cluster.bind('ours');

    const id = newId();
    await withdrawals.reserve(terms(id));
    expect(await codeOf(cluster.forget())).toBe('ClusterInUse');
    expect(await cluster.get()).toMatchObject({ genesisHash: 'ours' });
    const freed = { code: 'record_restored', message: expect.stringMatching(/freed from a cluster/) };
    expect(await attempts.prepare(attempt(id), PLENTY)).toEqual({ kind: 'stopped', reason: freed });
    expect(await continuity.pulse()).toMatchObject({ quarantineHeight: null, noncesSettled: false });
  });

  it('is not freed where a user has an address: nobody would see what is paid to it', async () => {
    const other = await freshDatabase();
    const { cluster, addresses, scan, ...ledger } = await openLedger(other.url);
    try {
      await cluster.bind('ours');
      await addresses.import([{ address: 'A'.repeat(32), path: 'm' }]);
      const hashes = { blockhash: 'ours', previousBlockhash: 'before' };
      await scan.start({ slot: 900n, parentSlot: 899n, height: 800n, time: null, ...hashes });
      await addresses.assign('user-1');
      await expect(cluster.forget()).rejects.toMatchObject({
        code: 'ClusterInUse',
        message: expect.stringMatching(/user-1/),
      });
      expect([await cluster.get(), await scan.cursor()]).toMatchObject([
        { genesisHash: 'ours' },
        { slot: 900n },
      ]);
    } finally {
      await ledger.close();
      await other.drop();
    }
  });

  it('that is a restored copy keeps its cluster, and its gap', async () => {
    const other = await freshDatabase();
    const ledger = await openLedger(other.url);
    try {
      await ledger.cluster.bind('ours');
      await ledger.continuity.pulse();
      await sql`update continuity set identity = 'the old primary'`.execute(ledger.db);
      expect(await codeOf(ledger.cluster.forget())).toBe('ClusterInUse');
      expect(await ledger.continuity.pulse()).toMatchObject({
        reason: expect.stringMatching(/restored copy/),
      });
    } finally {
      await ledger.close();
      await other.drop();
    }
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import { openLedger } from '../../../src/ledger/ledger.ts';
import { codeOf, useLedger } from '../support.ts';

const use = useLedger();

afterEach(() => use.ledger.db.deleteFrom('cluster').execute());

describe('a database', () => {
  it('belongs to the first cluster that a worker connects, and refuses another with both names', async () => {
    const { cluster } = use.ledger;
    expect(await cluster.get()).toBeNull();
    await cluster.bind('ours');
    await cluster.bind('ours');
    const refusal = { code: 'WrongCluster', message: expect.stringMatching(/theirs.*ours/) };
    await expect(cluster.bind('theirs')).rejects.toMatchObject(refusal);
    await expect(cluster.check('theirs')).rejects.toMatchObject(refusal);
    expect(await cluster.get()).toMatchObject({ genesisHash: 'ours' });
  });

  it('is not bound by a process that only reads', async () => {
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
});

import { describe, expect, it } from 'vitest';
import { DepositConfirmer } from '../../src/deposits/credits/confirm.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { auditIn, openAlertsIn } from './audit-support.ts';
import { isWholeBlock, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const lies = useLiar(fixture);

/** A deposit of `right` that the node of the block returned as one of `wrong`. */
async function depositsWithFalseOwner(): Promise<{ readonly right: string; readonly wrong: string }> {
  const { mint } = fixture.localnet;
  await fixture.scanAll(fixture.scanner());
  const [right, wrong] = [await fixture.newDepositAddress(), await fixture.newDepositAddress()];
  await fixture.localnet.mintTo(mint.address, right, 1n);
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  await fixture.confirm();
  await fixture.localnet.mintTo(mint.address, right, 7n);
  fixture.finalize();
  lies.liar.edit = (method, params, answer) => {
    if (isWholeBlock(method, params) && answer.result)
      for (const { meta } of answer.result.transactions)
        for (const entry of [...(meta.preTokenBalances ?? []), ...(meta.postTokenBalances ?? [])])
          if (entry.owner === right) entry.owner = wrong;
    return answer;
  };
  await fixture.scanAll(new DepositScanner(fixture.deps(lies.pool)));
  lies.liar.beHonest();
  expect(await judgements(wrong)).toEqual([[7n, 'pending', 'not_associated_account']]);
  return { right, wrong };
}

async function judgements(wallet: string) {
  const rows = await fixture.depositsOf(wallet);
  return rows.map(({ amount, state, reason }) => [amount, state, reason]);
}

describe('a node that names another wallet of ours as the owner', () => {
  it('does not keep a deposit from the user of the wallet that a quorum names', async () => {
    const { right, wrong } = await depositsWithFalseOwner();
    const confirmer = new DepositConfirmer(fixture.deps(lies.pool));
    expect(await confirmer.confirm()).toBe(1);
    expect(await judgements(right)).toEqual([
      [7n, 'final', null],
      [1n, 'final', null],
    ]);
    expect(await judgements(wrong)).toEqual([]);
    const [{ signature } = { signature: '' }] = await fixture.depositsOf(right);
    expect(await openAlertsIn(fixture, 'deposit_mismatch')).toContain(signature);
    expect((await fixture.ledger.addresses.byAddress(right))?.state).toBe('used');
  });

  it('is corrected by an audit that runs before the quorum confirms', async () => {
    const { right, wrong } = await depositsWithFalseOwner();
    const to = `${(await fixture.ledger.scan.cursor())?.slot}`;
    const order = { address: right, from: '1', to, repair: true, cause: 'operator' } as const;
    expect(await auditIn(fixture, order)).toMatchObject({ found: 1, remaining: 0 });
    expect((await judgements(right))[0]).toEqual([7n, 'pending', null]);
    await fixture.confirm();
    expect((await judgements(right))[0]).toEqual([7n, 'final', null]);
    expect(await judgements(wrong)).toEqual([]);
  });
});

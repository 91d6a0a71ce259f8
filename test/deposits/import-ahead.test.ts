import { beforeEach, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { codeOf } from '../ledger/support.ts';
import { auditIn, dueAuditsIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();

beforeEach(() => fixture.ledger.scanPauses.end({ actor: 'ops', reason: 'a new test' }));

const tip = () => BigInt(fixture.localnet.controls.chain.at('finalized').slot);

async function stateOf(address: string): Promise<string | undefined> {
  return (await fixture.ledger.addresses.byAddress(address))?.state;
}

/** An address that is paid and imported with its past while a lock keeps the scan from reading that past. */
async function paidAndImported(): Promise<{ paid: string; unpaid: string }> {
  const { ledger, localnet } = fixture;
  await fixture.scanAll(fixture.scanner());
  await ledger.scanPauses.begin({ actor: 'ops', reason: 'to see' });
  fixture.finalize();
  const since = tip();
  const [paid, unpaid] = [newAddress(), newAddress()];
  await localnet.airdrop(paid, 8_000_000n);
  fixture.finalize();
  const entries = [paid, unpaid].map((address) => ({ address, path: `m/${address}` }));
  await ledger.addresses.import(entries, since, { tip: tip() });
  return { paid, unpaid };
}

async function resume(): Promise<void> {
  await fixture.ledger.scanPauses.end({ actor: 'ops', reason: 'seen' });
  await fixture.scanAll(fixture.scanner());
}

it('an address with a past is not assigned before the scan reaches the tip of the chain at its import', async () => {
  const { paid, unpaid } = await paidAndImported();
  expect(await dueAuditsIn(fixture)).toEqual([]);
  expect(await codeOf(fixture.ledger.addresses.assign('early'))).toBe('NoFreeAddress');
  await resume();
  const orders = await dueAuditsIn(fixture);
  expect(orders.map(({ address }) => address)).toEqual([paid, unpaid]);
  for (const order of orders) {
    expect(BigInt(order.from)).toBeLessThanOrEqual(BigInt(order.to));
    expect(await auditIn(fixture, order)).toMatchObject({ unread: 0 });
  }
  await fixture.confirm();
  expect([await stateOf(paid), await stateOf(unpaid)]).toEqual(['used', 'free']);
  expect(await fixture.depositsOf(paid)).toMatchObject([{ amount: 8_000_000n, state: 'final' }]);
});

it('a known address that is imported again with its past is not assigned before that, although an earlier audit completes meanwhile', async () => {
  const { ledger, localnet } = fixture;
  await fixture.scanAll(fixture.scanner());
  const address = newAddress();
  const since = tip();
  const imported = () => ledger.addresses.import([{ address, path: 'm' }], since, { tip: tip() });
  await imported();
  const [order] = await dueAuditsIn(fixture);
  if (order === undefined) throw new Error('an audit is due');
  await ledger.scanPauses.begin({ actor: 'ops', reason: 'to see' });
  await localnet.airdrop(address, 9_000_000n);
  fixture.finalize();
  await imported();
  expect(await auditIn(fixture, order)).toMatchObject({ unread: 0 });
  expect([await stateOf(address), await dueAuditsIn(fixture)]).toEqual(['auditing', []]);
  await resume();
  for (const due of await dueAuditsIn(fixture)) await auditIn(fixture, due);
  await fixture.confirm();
  expect(await stateOf(address)).toBe('used');
});

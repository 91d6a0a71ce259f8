import { expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createAddressAudit } from '../../src/deposits/backfill/address-audit.ts';
import type { AuditCommand } from '../../src/domain/audit.ts';
import { runActivity } from '../support/activity.ts';
import { auditIn, dueAuditsIn, openAlertsIn } from './audit-support.ts';
import { useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const lies = useLiar(fixture);

/** Two addresses that are imported with a past; one of them was paid between the slots `from` and `to`. */
async function importedWithPast() {
  const { ledger, localnet } = fixture;
  await fixture.scanAll(fixture.scanner());
  const since = (await ledger.scan.cursor())?.slot ?? 0n;
  const [paid, unpaid] = [newAddress(), newAddress()];
  const from = localnet.controls.produceSlot();
  await localnet.airdrop(paid, 8_000_000n);
  const to = localnet.controls.produceSlot();
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  await ledger.addresses.import(
    [paid, unpaid].map((address) => ({ address, path: `m/${address}` })),
    since,
  );
  return { paid, unpaid, since, from, to };
}

async function stateOf(address: string): Promise<string | undefined> {
  return (await fixture.ledger.addresses.byAddress(address))?.state;
}

it('an address with a past is not released by nodes that miss that history, and is released by a quorum that returns the blocks', async () => {
  const { controls } = fixture.localnet;
  const { paid, unpaid, since, ...slots } = await importedWithPast();
  for (const node of [0, 1]) controls.setFault(node, '*', { kind: 'hole', ...slots });
  controls.setFault(2, '*', { kind: 'http', status: 503 });
  const orders = await dueAuditsIn(fixture);
  for (const order of orders) expect(await auditIn(fixture, order)).toMatchObject({ found: 0, unread: 1 });
  expect([await stateOf(paid), await stateOf(unpaid)]).toEqual(['auditing', 'auditing']);
  expect(await fixture.ledger.addresses.byAddress(unpaid)).toMatchObject({ unreadSince: expect.any(Date) });
  // One cause, one alert.
  expect(await openAlertsIn(fixture, 'audit_incomplete')).toEqual([`since ${since}`]);
  controls.clearFaults();
  for (const order of orders) expect(await auditIn(fixture, order)).toMatchObject({ unread: 0 });
  await fixture.confirm();
  expect([await stateOf(paid), await stateOf(unpaid)]).toEqual(['used', 'free']);
  expect(await openAlertsIn(fixture, 'audit_incomplete')).toEqual([]);
});

it('the alert about imports since a slot is closed with the last of them, also where addresses are imported since an earlier slot', async () => {
  const { ledger, localnet } = fixture;
  await fixture.scanAll(fixture.scanner());
  const since = (await ledger.scan.cursor())?.slot ?? 0n;
  const [moved, other] = [newAddress(), newAddress()];
  const imported = (addresses: readonly string[], from: bigint) =>
    ledger.addresses.import(
      addresses.map((address) => ({ address, path: `m/${address}` })),
      from,
    );
  const audit = async (address: string) => {
    const order = (await dueAuditsIn(fixture)).find((due) => due.address === address);
    if (order === undefined) throw new Error('an audit is due');
    return auditIn(fixture, order);
  };
  await imported([moved, other], since);
  for (const node of [0, 1])
    localnet.controls.setFault(node, '*', { kind: 'hole', from: Number(since), to: Number(since) });
  for (const address of [moved, other]) await audit(address);
  await imported([moved], since - 1n);
  localnet.controls.clearFaults();
  await fixture.pool.probe();
  await audit(moved);
  expect(await openAlertsIn(fixture, 'audit_incomplete')).toEqual([`since ${since}`]);
  await ledger.db.updateTable('depositAddress').set({ auditAfter: null }).execute();
  await audit(other);
  expect(await openAlertsIn(fixture, 'audit_incomplete')).toEqual([]);
});

it('an import audit waits while nodes are unreachable, without an alert for each address', async () => {
  const { ledger, localnet } = fixture;
  await fixture.scanAll(fixture.scanner());
  const address = newAddress();
  await ledger.addresses.import([{ address, path: `m/${address}` }], 1n);
  const [order] = await dueAuditsIn(fixture);
  if (order === undefined) throw new Error('an audit is due');
  for (const node of [0, 1]) localnet.controls.setFault(node, '*', { kind: 'http', status: 503 });
  await expect(auditIn(fixture, order)).rejects.toMatchObject({ code: 'NoHealthyNode' });
  expect(await openAlertsIn(fixture, 'audit_incomplete')).toEqual([]);
  localnet.controls.clearFaults();
  await fixture.pool.probe();
  expect(await auditIn(fixture, order)).toMatchObject({ unread: 0 });
  expect(await stateOf(address)).toBe('free');
});

it('an address with a past is not released by a node that has lost blocks it returned before, beside a lying node and an unreachable one', async () => {
  const { controls } = fixture.localnet;
  const { paid, unpaid, ...slots } = await importedWithPast();
  const orders = await dueAuditsIn(fixture);
  const activities = createAddressAudit(fixture.deps(lies.pool));
  const audit = async (address: string) => {
    const order = orders.find((each): each is AuditCommand => each.address === address);
    if (order === undefined) throw new Error('an audit is due');
    return runActivity(async () => {
      const report = await activities.auditPage(order);
      await activities.closeAudit(order, report);
      return report;
    });
  };
  expect([await audit(unpaid), await stateOf(unpaid)]).toMatchObject([{ unread: 0 }, 'free']);
  controls.setFault(1, '*', { kind: 'hole', ...slots });
  controls.setFault(2, '*', { kind: 'http', status: 503 });
  lies.liar.edit = (method, _params, answer) =>
    method === 'getSignaturesForAddress' ? { ...answer, result: [] } : answer;
  expect([await audit(paid), await stateOf(paid)]).toMatchObject([{ found: 0, unread: 1 }, 'auditing']);
  lies.liar.beHonest();
  controls.clearFaults();
  await lies.pool.probe();
  expect(await audit(paid)).toMatchObject({ found: 1, unread: 0 });
  await fixture.confirm();
  expect(await stateOf(paid)).toBe('used');
});

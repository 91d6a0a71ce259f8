import { afterEach, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { codeOf } from '../ledger/support.ts';
import { auditIn, dueAuditsIn, openAlertsIn } from './audit-support.ts';
import { isWholeBlock, makeFirstNodeFastest, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);
const PAID = 8_000_000n;
afterEach(() => nodes.liar.beHonest());

const tip = () => BigInt(fixture.localnet.controls.chain.at('finalized').slot);

/** Scans to the tip in a process that asks one lying node of three first; the node names another receiver. */
async function scanWithout(wallet: string): Promise<void> {
  await makeFirstNodeFastest(fixture, nodes.pool);
  const other = newAddress();
  nodes.liar.edit = (method, params, answer) =>
    isWholeBlock(method, params) ? JSON.parse(JSON.stringify(answer).replaceAll(wallet, other)) : answer;
  await fixture.scanAll(new DepositScanner(fixture.deps(nodes.pool)));
  nodes.liar.beHonest();
  expect(await fixture.depositsOf(wallet)).toEqual([]);
}

async function auditDue(): Promise<void> {
  for (const order of await dueAuditsIn(fixture))
    expect(await auditIn(fixture, order)).toMatchObject({ unread: 0 });
  await fixture.confirm();
}

it('the import audit finds a deposit between the cursor and the tip at the import that a node hid from the scan', async () => {
  await fixture.scanAll(fixture.scanner());
  const since = tip();
  const wallet = newAddress();
  await fixture.localnet.airdrop(wallet, PAID);
  fixture.finalize();
  await fixture.ledger.addresses.import([{ address: wallet, path: 'm' }], since, { tip: tip() });
  await scanWithout(wallet);
  await auditDue();
  expect(await fixture.depositsOf(wallet)).toMatchObject([{ amount: PAID, state: 'final', userRef: null }]);
  expect(await codeOf(fixture.ledger.addresses.assign('user'))).toBe('NoFreeAddress');
});

it('a known address that is imported again is audited up to that import, and a deposit that the scan missed raises an alert', async () => {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  fixture.finalize(4);
  await fixture.scanAll(fixture.scanner());
  const since = tip();
  await fixture.localnet.airdrop(wallet, PAID);
  fixture.finalize();
  await scanWithout(wallet);
  await fixture.ledger.addresses.import([{ address: wallet, path: `m/${wallet}` }], since, { tip: tip() });
  await auditDue();
  const [deposit] = await fixture.depositsOf(wallet);
  expect(deposit).toMatchObject({ amount: PAID, state: 'final' });
  expect(await openAlertsIn(fixture, 'deposit_missed')).toContain(deposit?.signature);
  expect((await fixture.ledger.addresses.byAddress(wallet))?.state).toBe('used');
});

it('the import audit raises no alert about a deposit of before the address was watched', async () => {
  await fixture.scanAll(fixture.scanner());
  const [since, wallet] = [tip(), newAddress()];
  await fixture.localnet.airdrop(wallet, PAID);
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  await fixture.ledger.addresses.import([{ address: wallet, path: 'm' }], since, { tip: tip() });
  await auditDue();
  const [deposit] = await fixture.depositsOf(wallet);
  expect(deposit).toMatchObject({ amount: PAID, state: 'final' });
  expect(await openAlertsIn(fixture, 'deposit_missed')).not.toContain(deposit?.signature);
});

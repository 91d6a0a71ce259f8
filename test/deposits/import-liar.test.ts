import { afterEach, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { codeOf } from '../ledger/support.ts';
import { auditIn, dueAuditsIn, openAlertsIn } from './audit-support.ts';
import { isWholeBlock, makeFirstNodeFastest, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const room = useScanFixture(3);
const nodes = useLiar(room);
const PAID = 8_000_000n;
afterEach(() => nodes.liar.beHonest());

const tip = () => BigInt(room.localnet.controls.chain.at('finalized').slot);

/** Scans to the tip in a process that asks one lying node of three first; the node names another receiver. */
async function scanWithout(wallet: string): Promise<void> {
  await makeFirstNodeFastest(room, nodes.pool);
  const other = newAddress();
  nodes.liar.edit = (method, params, answer) =>
    isWholeBlock(method, params) ? JSON.parse(JSON.stringify(answer).replaceAll(wallet, other)) : answer;
  await room.scanAll(new DepositScanner(room.deps(nodes.pool)));
  nodes.liar.beHonest();
  expect(await room.depositsOf(wallet)).toEqual([]);
}

async function auditDue(): Promise<void> {
  for (const order of await dueAuditsIn(room))
    expect(await auditIn(room, order)).toMatchObject({ unread: 0 });
  await room.confirm();
}

it('the import audit finds a deposit between the cursor and the tip at the import that a node hid from the scan', async () => {
  await room.scanAll(room.scanner());
  const since = tip();
  const wallet = newAddress();
  await room.localnet.airdrop(wallet, PAID);
  room.finalize();
  await room.ledger.addresses.import([{ address: wallet, path: 'm' }], since, { tip: tip() });
  await scanWithout(wallet);
  await auditDue();
  expect(await room.depositsOf(wallet)).toMatchObject([{ amount: PAID, state: 'final', userRef: null }]);
  expect(await codeOf(room.ledger.addresses.assign('user'))).toBe('NoFreeAddress');
});

it('a known address that is imported again is audited up to that import, and a deposit that the scan missed raises an alert', async () => {
  await room.scanAll(room.scanner());
  const wallet = await room.newDepositAddress();
  room.finalize(4);
  await room.scanAll(room.scanner());
  const since = tip();
  await room.localnet.airdrop(wallet, PAID);
  room.finalize();
  await scanWithout(wallet);
  await room.ledger.addresses.import([{ address: wallet, path: `m/${wallet}` }], since, { tip: tip() });
  await auditDue();
  const [deposit] = await room.depositsOf(wallet);
  expect(deposit).toMatchObject({ amount: PAID, state: 'final' });
  expect(await openAlertsIn(room, 'deposit_missed')).toContain(deposit?.signature);
  expect((await room.ledger.addresses.byAddress(wallet))?.state).toBe('used');
});

it('the import audit raises no alert about a deposit of before the address was watched', async () => {
  await room.scanAll(room.scanner());
  const [since, wallet] = [tip(), newAddress()];
  await room.localnet.airdrop(wallet, PAID);
  room.finalize();
  await room.scanAll(room.scanner());
  await room.ledger.addresses.import([{ address: wallet, path: 'm' }], since, { tip: tip() });
  await auditDue();
  const [deposit] = await room.depositsOf(wallet);
  expect(deposit).toMatchObject({ amount: PAID, state: 'final' });
  expect(await openAlertsIn(room, 'deposit_missed')).not.toContain(deposit?.signature);
});

import { MockActivityEnvironment } from '@temporalio/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { createReconciliation } from '../../src/activities/reconciliation.ts';
import type { ReconciledPage } from '../../src/domain/reconciliation.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { openAlertsIn } from './audit-support.ts';
import { useScanRoom } from './scan-fixture.ts';

const room = useScanRoom(3);
const LIAR = 0;
const [HONEST, OTHER] = [1, 2];
let wallet = '';
let account = '';

interface Answer {
  readonly context: { readonly slot: number };
  readonly value: readonly unknown[];
}

beforeAll(async () => {
  await room.scanAll(room.scanner());
  wallet = await room.newDepositAddress();
  account = deriveAta(wallet, room.localnet.mint.address, TOKEN_PROGRAM);
});

function reconcile(): Promise<ReconciledPage> {
  const activities = createReconciliation({ ...room.deps(), patienceMs: 0 });
  return new MockActivityEnvironment().run(() => activities.reconcilePage());
}

/** What all nodes say now of the wallet, and of its token account. */
function shown(): Promise<Answer> {
  const config = { encoding: 'base64', commitment: 'finalized' };
  return rpc(room.localnet.rpcUrls[LIAR] ?? '', 'getMultipleAccounts', [[wallet, account], config]);
}

/** The wallet is paid SOL and tokens; answers what all nodes said before that. */
async function paid(): Promise<Answer> {
  const before = await shown();
  await room.localnet.airdrop(wallet, 3_000_000n);
  await room.localnet.mintTo(room.localnet.mint.address, wallet, 7n);
  room.finalize();
  await room.scanAll(room.scanner());
  return before;
}

/** As if the block had been shown without what it did to the wallet. */
async function missed(): Promise<void> {
  await room.ledger.db.deleteFrom('depositEvent').execute();
  await room.ledger.db.deleteFrom('deposit').execute();
}

/** One node says this, at the slot of now, and that the wallet has no token account. */
async function lies({ value }: Answer): Promise<void> {
  const { context } = await shown();
  const { controls } = room.localnet;
  controls.setFault(LIAR, 'getMultipleAccounts', { kind: 'result', result: { context, value } });
  controls.setFault(LIAR, 'getTokenAccountsByOwner', { kind: 'result', result: { context, value: [] } });
}

const told = () => openAlertsIn(room, 'balance_difference');

describe('one node that lies about balances', () => {
  it('makes no difference where there is none', async () => {
    const before = await paid();
    await lies(before);
    expect(await reconcile()).toMatchObject({ wallets: 1, accounts: 2, differences: 0, unread: 0 });
    expect(await told()).toEqual([]);
  });

  it('hides no deposit that was missed', async () => {
    await missed();
    await lies({ context: { slot: 0 }, value: [null, null, null] });
    expect(await reconcile()).toMatchObject({ differences: 2, unread: 0 });
    expect((await told()).toSorted()).toEqual(
      [`${wallet}/SOL`, `${account}/${room.localnet.mint.address}`].toSorted(),
    );
  });

  it('beside one honest node decides nothing: the wallet is asked for again', async () => {
    await lies({ context: { slot: 0 }, value: [null, null, null] });
    room.localnet.controls.setFault(OTHER, 'getMultipleAccounts', { kind: 'http', status: 503 });
    const before = await told();
    expect(await reconcile()).toMatchObject({ wallets: 0, unread: 1, next: null });
    expect(await told()).toEqual(before);
    const unread = await room.ledger.db.selectFrom('unreadWallet').select(['wallet', 'reason']).execute();
    expect(unread).toEqual([{ wallet, reason: 'the nodes contradict each other about what it holds' }]);
  });

  it('beside an honest one that is slow decides nothing: that one is waited for', async () => {
    await lies({ context: { slot: 0 }, value: [null, null, null] });
    // The other one's faults of before are forgotten: it is waited for as long as any.
    await room.pool.probe();
    room.localnet.controls.setFault(OTHER, 'getMultipleAccounts', { kind: 'delay', ms: 1_500 });
    expect(await reconcile()).toMatchObject({ wallets: 1, unread: 0, differences: 2 });
  });

  it('is not waited for at a slot that no other has come to', async () => {
    const { value, context } = await shown();
    const result = { context: { ...context, slot: context.slot + 1_000_000 }, value };
    room.localnet.controls.setFault(LIAR, 'getMultipleAccounts', { kind: 'result', result });
    expect(await reconcile()).toMatchObject({ complete: true, wallets: 1, unread: 0 });
    room.localnet.controls.setFault(HONEST, 'getMultipleAccounts', { kind: 'http', status: 503 });
    expect(await reconcile()).toMatchObject({ complete: true, wallets: 0, unread: 1 });
  });
});

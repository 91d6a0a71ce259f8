import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { openAlertsIn, reconcileIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const HOT = newAddress();
let wallet = '';
let account = '';

interface AccountsAnswer {
  readonly context: { readonly slot: number };
  readonly value: readonly unknown[];
}

beforeAll(async () => {
  await fixture.scanAll(fixture.scanner());
  wallet = await fixture.newDepositAddress();
  account = deriveAta(wallet, fixture.localnet.mint.address, TOKEN_PROGRAM);
});

beforeEach(() => fixture.localnet.controls.clearFaults());

/** The indexes of the nodes in the order in which passes ask them. */
function nodeOrder(): readonly number[] {
  const names = fixture.pool.nodes.map(({ name }) => name);
  return names.toSorted().map((name) => names.indexOf(name));
}

/** The index of the node that the next pass asks first. */
async function nextNode(passes = 0): Promise<number> {
  const begun = await fixture.ledger.reconciliations.begin();
  const order = nodeOrder();
  return order[(Number(begun.passes) + passes) % order.length] ?? 0;
}

const reconcile = () => reconcileIn(fixture);

/** The answers of all nodes for the wallet and its token account now. */
function accountAnswers(of: readonly string[] = [wallet, account]): Promise<AccountsAnswer> {
  const config = { encoding: 'base64', commitment: 'finalized' };
  return rpc(fixture.localnet.rpcUrls[0] ?? '', 'getMultipleAccounts', [of, config]);
}

/** Makes the node return these accounts at the current slot, no nested account, and no token account of the wallet. */
async function falsifyAccounts(
  node: number,
  { value }: Pick<AccountsAnswer, 'value'>,
  ahead = 0,
): Promise<void> {
  const { context } = await accountAnswers();
  const { controls } = fixture.localnet;
  const result = { context: { ...context, slot: context.slot + ahead }, value: [...value, null] };
  controls.setFault(node, 'getMultipleAccounts', { kind: 'result', result });
  controls.setFault(node, 'getTokenAccountsByOwner', { kind: 'result', result: { context, value: [] } });
}

const differences = () => openAlertsIn(fixture, 'balance_difference');
const EMPTY = { value: [null, null] };

describe('a node that lies about the balances of deposit addresses', () => {
  it('invents a difference for one pass only', async () => {
    const before = await accountAnswers();
    await fixture.localnet.airdrop(wallet, 3_000_000n);
    await fixture.localnet.mintTo(fixture.localnet.mint.address, wallet, 7n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    await falsifyAccounts(await nextNode(), before);
    expect(await reconcile()).toMatchObject({ wallets: 1, differences: 2, unread: 0 });
    expect(await reconcile()).toMatchObject({ wallets: 1, accounts: 2, differences: 0, unread: 0 });
    expect(await differences()).toEqual([]);
  });

  it('hides a missed deposit for one pass only, and the next pass finds it', async () => {
    // As if a node had returned the block without the changes of the wallet.
    await fixture.ledger.db.deleteFrom('depositEvent').execute();
    await fixture.ledger.db.deleteFrom('deposit').execute();
    await falsifyAccounts(await nextNode(), EMPTY);
    expect(await reconcile()).toMatchObject({ differences: 0, unread: 0 });
    expect(await reconcile()).toMatchObject({ differences: 2, unread: 0 });
    const both = [`${wallet}/SOL`, `${account}/${fixture.localnet.mint.address}`];
    expect((await differences()).toSorted()).toEqual(both.toSorted());
  });

  it('does not delay a pass with a slot that no quorum has finalized', async () => {
    await falsifyAccounts(await nextNode(), await accountAnswers(), 1_000_000);
    expect(await reconcile()).toMatchObject({ complete: true, wallets: 0, unread: 1 });
    expect(await reconcile()).toMatchObject({ complete: true, wallets: 1, unread: 0 });
  });

  it('is replaced by the next node where it does not answer', async () => {
    const { controls } = fixture.localnet;
    for (const passes of [0, 1])
      controls.setFault(await nextNode(passes), 'getMultipleAccounts', { kind: 'http', status: 503 });
    expect(await reconcile()).toMatchObject({ wallets: 1, differences: 2, unread: 0 });
    controls.setFault(await nextNode(1), 'getMultipleAccounts', { kind: 'http', status: 503 });
    expect(await reconcile()).toMatchObject({ wallets: 0, unread: 1, next: null });
    expect(await differences()).toHaveLength(2);
  });
});

describe('a node that lies about the balances of a hot wallet', () => {
  beforeAll(async () => {
    await fixture.localnet.airdrop(HOT, 5_000_000n);
    fixture.finalize();
    await fixture.ledger.watched.addHot([HOT]);
    await fixture.scanAll(fixture.scanner());
    await reconcile();
    await fixture.localnet.airdrop(HOT, 1_000_000n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    await fixture.ledger.db.deleteFrom('deposit').where('wallet', '=', HOT).execute();
  });

  it('hides no difference from a quorum, and invents none', async () => {
    await falsifyAccounts(await nextNode(), EMPTY);
    await reconcile();
    expect(await differences()).toContain(`${HOT}/SOL`);
    const baseline = await fixture.ledger.baselines.of(HOT);
    expect(baseline?.balances).toEqual([{ account: HOT, asset: 'SOL', amount: 5_000_000n }]);
  });

  it('leaves the wallet unread beside one honest node', async () => {
    const [liar = 0, , away = 0] = nodeOrder();
    await falsifyAccounts(liar, EMPTY);
    fixture.localnet.controls.setFault(away, 'getMultipleAccounts', { kind: 'http', status: 503 });
    await reconcile();
    const unread = await fixture.ledger.db.selectFrom('unreadWallet').select(['wallet', 'reason']).execute();
    const reason = 'no quorum of nodes agrees on the balances and movements of the wallet';
    expect(unread).toContainEqual({ wallet: HOT, reason });
  });

  it('decides nothing beside a slow honest node, and the pass waits for the honest node', async () => {
    const [liar = 0, , slow = 0] = nodeOrder();
    await falsifyAccounts(liar, EMPTY);
    await fixture.pool.probe();
    fixture.localnet.controls.setFault(slow, 'getMultipleAccounts', { kind: 'delay', ms: 1_500 });
    await reconcile();
    expect(await fixture.ledger.db.selectFrom('unreadWallet').select('wallet').execute()).toEqual([]);
    expect(await differences()).toContain(`${HOT}/SOL`);
  });
});

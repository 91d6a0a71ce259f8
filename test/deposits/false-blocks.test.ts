import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { DepositConfirmer } from '../../src/deposits/credits/confirm.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import type { AnyJson } from '../support/node-proxy.ts';
import { isWholeBlock, LyingProxy, rpc } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
let liar: LyingProxy;
let url: string;
let pool: NodePool;
/** The nodes of one process, which starts without knowledge of them. */
let deps: ReturnType<typeof fixture.deps>;

beforeAll(async () => {
  liar = new LyingProxy(fixture.localnet.rpcUrls[0] ?? '');
  url = await liar.start();
});
beforeEach(async () => {
  await fixture.scanAll(fixture.scanner());
  pool = await openNodePool([url, ...fixture.localnet.rpcUrls.slice(1)]);
  deps = fixture.deps(pool);
});
afterEach(async () => {
  liar.beHonest();
  await pool.close();
});
afterAll(() => liar.close());

/** Replaces the receiver of each transfer of a block by this wallet; returns how many blocks were changed. */
function turnTo(wallet: string): { blocks: number } {
  const lies = { blocks: 0 };
  liar.edit = (method, params, answer) => {
    if (!isWholeBlock(method, params)) return answer;
    lies.blocks += 1;
    for (const { transaction } of answer.result?.transactions ?? []) redirect(transaction, wallet);
    return answer;
  };
  return lies;
}

function redirect(transaction: AnyJson, wallet: string): void {
  const to = transaction.accountKeys[1];
  if (to !== undefined && !to.signer) to.pubkey = wallet;
}

/** Pays strangers in one block. */
async function payOthers(times: number): Promise<void> {
  const [honest = ''] = fixture.localnet.rpcUrls;
  for (let sent = 0; sent < times; sent += 1)
    await rpc(honest, { method: 'requestAirdrop', params: [newAddress(), 7_000_000 + sent] });
  fixture.finalize();
}

describe('a node whose blocks contain transactions that a quorum denies', () => {
  it('causes no credit: each deposit stays pending, with an alert that names the nodes that deny it', async () => {
    const victim = await fixture.newDepositAddress();
    await payOthers(3);
    const lies = turnTo(victim);
    await fixture.scanAll(new DepositScanner(deps));
    expect(lies.blocks).toBeGreaterThan(0);
    expect(await new DepositConfirmer(deps).confirm()).toBe(0);
    expect((await fixture.depositsOf(victim)).map(({ state }) => state)).toEqual(Array(3).fill('pending'));
    const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
    const unconfirmed = rows.filter(({ kind }) => kind === 'deposit_unconfirmed');
    expect(unconfirmed).toHaveLength(3);
    for (const { details } of unconfirmed)
      expect(details).toMatchObject({ agree: [], deny: [expect.any(String), expect.any(String)] });
    const good = await fixture.newDepositAddress();
    await fixture.localnet.airdrop(good, 9_000_000n);
    fixture.finalize();
    liar.beHonest();
    await fixture.scanAll(new DepositScanner(deps));
    await new DepositConfirmer(deps).confirm();
    expect(await fixture.depositsOf(good)).toMatchObject([{ state: 'final' }]);
  });
});

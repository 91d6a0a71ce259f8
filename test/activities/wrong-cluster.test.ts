import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { createLanding } from '../../src/settlement/land.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import { codeOf, useLedger } from '../ledger/support.ts';
import { useLandingFixture } from '../solana/landing-fixture.ts';
import { activityEnvironment } from '../support/activity.ts';
import { quickChain } from '../support/quick-chain.ts';
import { landedWithdrawals } from '../support/withdrawal-kind.ts';
import { preparedAttempt } from './prepared-attempt.ts';

const ELSEWHERE = '4uhcVJyU9pJkvQyS88uRDiswHScg5X3hJzxuBxKTrPSY';
const use = useLedger();
const fixture = useLandingFixture();
let other: Localnet;
let otherPool: NodePool;

beforeAll(async () => {
  other = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes: 2, hotWallet: fixture.signer.address });
  moveToOtherCluster(other);
  other.controls.produceSlots(900);
  otherPool = await openNodePool(other.rpcUrls);
});
afterAll(async () => {
  await otherPool?.close();
  await other?.close();
});

/** From now on its nodes are those of another cluster. */
function moveToOtherCluster({ controls }: Localnet): void {
  for (const node of [0, 1]) controls.setFault(node, 'getGenesisHash', { kind: 'result', result: ELSEWHERE });
}

const watchWallet = (pool: NodePool) =>
  new WalletWatch({
    ledger: use.ledger,
    chain: quickChain(pool),
    hotWallet: fixture.signer.address,
  }).check();
const judgedTo = () => use.ledger.walletHistory.judgedTo(fixture.signer.address);

/** A recorded attempt that was never sent, so that its death can be proved after its life. */
async function unsent() {
  const { id, signature } = await preparedAttempt(use.ledger, fixture);
  await use.ledger.attempts.storeSignature(id, 1, signature);
  for (const node of [0, 1])
    fixture.localnet.controls.setFault(node, 'sendTransaction', { kind: 'http', status: 503 });
  fixture.localnet.controls.produceSlots(170);
  return { id, signature };
}

function land(id: string, signature: string, pool: NodePool): Promise<unknown> {
  const landings = createLanding({
    ledger: use.ledger,
    watcher: fixture.watcher,
    chain: quickChain(pool),
    kinds: landedWithdrawals(use.ledger),
  });
  const environment = activityEnvironment();
  return environment.run((input) => landings.landAttempt(input), { id, n: 1, signature });
}

describe('a pool of another cluster than the database', () => {
  it('moves no scan cursor, and may not even be opened', async () => {
    await watchWallet(fixture.pool);
    const before = await judgedTo();
    expect(await codeOf(watchWallet(otherPool))).toBe('WrongCluster');
    expect(await judgedTo()).toBe(before);
    const admit = (genesisHash: string) => use.ledger.cluster.bind(genesisHash);
    expect(await codeOf(openNodePool(other.rpcUrls, { admit }))).toBe('WrongCluster');
  });

  it('judges no attempt', async () => {
    const { id, signature } = await unsent();
    expect(await codeOf(land(id, signature, otherPool))).toBe('WrongCluster');
    expect(await use.ledger.attempts.get(id, 1)).toMatchObject({ state: 'signed' });
    expect(await land(id, signature, fixture.pool)).toMatchObject({ kind: 'dead' });
  });

  it('judges no attempt when its addresses switch to that cluster after it was opened', async () => {
    const { id, signature } = await unsent();
    moveToOtherCluster(fixture.localnet);
    expect(await codeOf(land(id, signature, fixture.pool))).toBe('NoHealthyNode');
    expect(await use.ledger.attempts.get(id, 1)).toMatchObject({ state: 'signed' });
  });
});

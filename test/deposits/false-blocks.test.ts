import { beforeEach, describe, expect, it } from 'vitest';
import { DepositConfirmer } from '../../src/activities/deposit-confirm.ts';
import { DepositScanner } from '../../src/activities/deposit-scanner.ts';
import { newAddress } from '../../src/localstack/keypair.ts';
import { isWholeBlock, type Json, useLiar } from './lying-proxy.ts';
import { useScanRoom } from './scan-room.ts';

const room = useScanRoom(3);
const nodes = useLiar(room);
/** The process whose pool knows the liar. */
let deps: ReturnType<typeof room.deps>;

beforeEach(async () => {
  await room.scanAll(room.scanner());
  deps = room.deps(nodes.pool);
});

/** Each transfer of a block, which is the faucet's to somebody, as one to this wallet; answers how many blocks were told so. */
function turnTo(wallet: string): { blocks: number } {
  const told = { blocks: 0 };
  nodes.liar.edit = (method, params, answer) => {
    if (!isWholeBlock(method, params)) return answer;
    told.blocks += 1;
    for (const { transaction } of answer.result?.transactions ?? []) redirect(transaction, wallet);
    return answer;
  };
  return told;
}

function redirect(transaction: Json, wallet: string): void {
  const to = transaction.accountKeys[1];
  if (to !== undefined && !to.signer) to.pubkey = wallet;
}

async function payOthers(times: number): Promise<void> {
  for (let sent = 0; sent < times; sent += 1)
    await room.localnet.airdrop(newAddress(), 7_000_000n + BigInt(sent));
  room.finalize();
}

describe('a node whose blocks show what a quorum denies', () => {
  it('is asked for no more of them while others answer, and the report says why', async () => {
    const victim = await room.newDepositAddress();
    await payOthers(3);
    const told = turnTo(victim);
    await room.scanAll(new DepositScanner(deps));
    expect(told.blocks).toBeGreaterThan(0);
    expect(await room.depositsOf(victim)).toHaveLength(3);
    expect(await new DepositConfirmer(deps).confirm(AbortSignal.timeout(2_000))).toBe(0);
    told.blocks = 0;
    const good = await room.newDepositAddress();
    await room.localnet.airdrop(good, 9_000_000n);
    await payOthers(3);
    await room.scanAll(new DepositScanner(deps));
    expect(told.blocks).toBe(0);
    expect(await room.depositsOf(victim)).toHaveLength(3);
    await new DepositConfirmer(deps).confirm(AbortSignal.timeout(2_000));
    expect(await room.depositsOf(good)).toMatchObject([{ state: 'final' }]);
    const [liar, ...others] = nodes.pool.report();
    expect(liar?.demoted).toMatchObject({ cause: 'false', why: expect.stringContaining(victim) });
    expect(others.map(({ demoted }) => demoted)).toEqual([null, null]);
    expect(nodes.pool.warnings()).toContainEqual(
      expect.objectContaining({ rule: 'false-word', node: liar?.node }),
    );
  });
});

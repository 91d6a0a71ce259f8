import { expect, it } from 'vitest';
import { DepositAnnouncer } from '../../src/activities/deposit-announce.ts';
import { DepositConfirmer } from '../../src/activities/deposit-confirm.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { auditIn } from './audit-support.ts';
import { type Json, rpc, useLiar } from './lying-proxy.ts';
import { useScanRoom } from './scan-room.ts';

const room = useScanRoom(3);
const nodes = useLiar(room);

/** A deposit of 7,000,000 lamports whose block is confirmed and not final. */
async function confirmedDeposit(): Promise<{ readonly wallet: string; readonly slot: number }> {
  await room.scanAll(room.scanner());
  const wallet = await room.newDepositAddress();
  await room.localnet.airdrop(wallet, 7_000_000n);
  const [url = ''] = room.localnet.rpcUrls;
  const question = { method: 'getSignaturesForAddress', params: [wallet, { commitment: 'confirmed' }] };
  for (let blocks = 0; blocks < 3; blocks += 1) {
    const { result } = await rpc(url, question);
    if (result.length > 0) return { wallet, slot: result[0].slot };
    room.localnet.controls.produceSlot();
  }
  throw new Error('the deposit is not confirmed');
}

/** One node of three claims that confirmed blocks reach to `claimed`, and shows the true block of `slot` there. */
async function announceAt(
  claimed: number,
  slot: number,
  change: (block: Json) => void = () => undefined,
  pool = nodes.pool,
): Promise<void> {
  const [url = ''] = room.localnet.rpcUrls;
  nodes.liar.edit = async (method, params, answer) => {
    const isConfirmed = params.some((param: Json) => param?.commitment === 'confirmed');
    if (method === 'getEpochInfo' && isConfirmed) answer.result.absoluteSlot = claimed;
    if (method === 'getBlocks' && isConfirmed) answer.result = [claimed];
    if (method !== 'getBlock' || params[0] !== claimed) return answer;
    const block = await rpc(url, { method, params: [slot, params[1]], id: answer.id });
    change(block.result);
    return block;
  };
  await new DepositAnnouncer(room.deps(pool)).announce();
  nodes.liar.beHonest();
}

/** What an announcer makes of it whom nobody but the liar answers. */
async function announceAlone(...told: Parameters<typeof announceAt>): Promise<void> {
  const [claimed, slot, change] = told;
  const alone = await openNodePool(nodes.pool.nodes.slice(0, 1).map(({ url }) => url));
  try {
    await announceAt(claimed, slot, change, alone);
  } finally {
    await alone.close();
  }
}

async function readAll(): Promise<void> {
  room.finalize(10);
  await room.scanAll(room.scanner());
  await new DepositConfirmer(room.deps()).confirm();
}

it('of a slot that no quorum has confirmed is none', async () => {
  const { wallet, slot } = await confirmedDeposit();
  await announceAt(slot + 1_000_000, slot, (block) => {
    block.blockhash = wallet;
  });
  expect(await room.depositsOf(wallet)).toEqual([]);
});

it('at a slot that is not its own is dropped, and keeps nobody from the deposit', async () => {
  const { wallet, slot } = await confirmedDeposit();
  room.localnet.controls.produceSlots(1);
  await announceAlone(slot + 1, slot);
  const told = await room.depositsOf(wallet);
  expect(told).toMatchObject([{ slot: BigInt(slot) + 1n, state: 'pending', finalizedAt: null }]);
  await readAll();
  const rows = await room.depositsOf(wallet);
  expect(rows.map((row) => [row.state, row.slot])).toEqual([
    ['final', BigInt(slot)],
    ['dropped', BigInt(slot) + 1n],
  ]);
  const to = `${(await room.ledger.scan.cursor())?.slot}`;
  const order = { address: wallet, from: '1', to, repair: true, cause: 'operator' } as const;
  expect(await auditIn(room, order)).toMatchObject({ unread: 0, differences: [] });
});

it('of a block that is not after its parent is none', async () => {
  const { wallet, slot } = await confirmedDeposit();
  await announceAlone(slot, slot, (block) => {
    block.parentSlot = slot;
  });
  expect(await room.depositsOf(wallet)).toEqual([]);
});

import { describe, expect, it, vi } from 'vitest';
import { DepositAnnouncer } from '../../src/deposits/credits/announce.ts';
import { DepositConfirmer } from '../../src/deposits/credits/confirm.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { WatchSet } from '../../src/solana/scan/bytes/watch-set.ts';
import type { AnyJson } from '../support/node-proxy.ts';
import { auditIn } from './audit-support.ts';
import { rpc, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);

/** A deposit of 7,000,000 lamports whose block is confirmed and not finalized. */
async function confirmedDeposit(): Promise<{ readonly wallet: string; readonly slot: number }> {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, 7_000_000n);
  const [url = ''] = fixture.localnet.rpcUrls;
  const question = { method: 'getSignaturesForAddress', params: [wallet, { commitment: 'confirmed' }] };
  for (let blocks = 0; blocks < 3; blocks += 1) {
    const { result } = await rpc(url, question);
    if (result.length > 0) return { wallet, slot: result[0].slot };
    fixture.localnet.controls.produceSlot();
  }
  throw new Error('the deposit is not confirmed');
}

/** One node of three reports confirmed blocks up to `claimed`, and returns the true block of `slot` there. */
async function announceAt(
  claimed: number,
  slot: number,
  change: (block: AnyJson) => void = () => undefined,
  pool = nodes.pool,
): Promise<void> {
  const [url = ''] = fixture.localnet.rpcUrls;
  nodes.liar.edit = async (method, params, answer) => {
    const isConfirmed = params.some((param: AnyJson) => param?.commitment === 'confirmed');
    if (method === 'getEpochInfo' && isConfirmed) answer.result.absoluteSlot = claimed;
    if (method === 'getBlocks' && isConfirmed) answer.result = [claimed];
    if (method !== 'getBlock' || params[0] !== claimed) return answer;
    const block = await rpc(url, { method, params: [slot, params[1]], id: answer.id });
    change(block.result);
    return block;
  };
  await new DepositAnnouncer(fixture.deps(pool)).announce();
  nodes.liar.beHonest();
}

/** Runs an announcer that only the lying node answers. */
async function announceAlone(...args: Parameters<typeof announceAt>): Promise<void> {
  const [claimed, slot, change] = args;
  const alone = await openNodePool(nodes.pool.nodes.slice(0, 1).map(({ url }) => url));
  try {
    await announceAt(claimed, slot, change, alone);
  } finally {
    await alone.close();
  }
}

async function readAll(): Promise<void> {
  fixture.finalize(10);
  await fixture.scanAll(fixture.scanner());
  await new DepositConfirmer(fixture.deps()).confirm();
}

/** Runs an announcer with honest nodes on the same chain. */
async function announceHonestly(): Promise<void> {
  await new DepositAnnouncer(fixture.deps(nodes.pool)).announce();
}

describe('a deposit in a confirmed block of one node', () => {
  it('is not announced while no quorum has confirmed its slot', async () => {
    const { wallet, slot } = await confirmedDeposit();
    nodes.liar.asked = [];
    await announceAt(slot + 1_000_000, slot, (block) => {
      block.blockhash = wallet;
    });
    expect(nodes.liar.asked).toContain('getEpochInfo');
    expect(await fixture.depositsOf(wallet)).toEqual([]);
    await announceHonestly();
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ slot: BigInt(slot), state: 'pending' }]);
  });

  it('is dropped where the node names a false slot, and the real deposit is still announced', async () => {
    const { wallet, slot } = await confirmedDeposit();
    fixture.localnet.controls.produceSlots(1);
    await announceAlone(slot + 1, slot);
    const announced = await fixture.depositsOf(wallet);
    expect(announced).toMatchObject([{ slot: BigInt(slot) + 1n, state: 'pending', finalizedAt: null }]);
    await readAll();
    const rows = await fixture.depositsOf(wallet);
    expect(rows.map((row) => [row.state, row.slot])).toEqual([
      ['final', BigInt(slot)],
      ['dropped', BigInt(slot) + 1n],
    ]);
    const to = `${(await fixture.ledger.scan.cursor())?.slot}`;
    const order = { address: wallet, from: '1', to, repair: true, cause: 'operator' } as const;
    expect(await auditIn(fixture, order)).toMatchObject({ unread: 0, differences: [] });
  });

  it('is not announced where its block does not follow its parent', async () => {
    const { wallet, slot } = await confirmedDeposit();
    nodes.liar.asked = [];
    await announceAlone(slot, slot, (block) => {
      block.parentSlot = slot;
    });
    expect(nodes.liar.asked).toContain('getBlock');
    expect(await fixture.depositsOf(wallet)).toEqual([]);
    await announceHonestly();
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ slot: BigInt(slot), state: 'pending' }]);
  });
});

describe('the announcer', () => {
  it.each([
    ['no node lists it at first', 'getBlocks', { kind: 'result', result: [] }],
    ['no node returns it at first', 'getBlock', { kind: 'null' }],
  ] as const)('reads a block one turn later where %s', async (_title, method, fault) => {
    const { wallet, slot } = await confirmedDeposit();
    const announcer = new DepositAnnouncer(fixture.deps());
    for (const node of [0, 1, 2]) fixture.localnet.controls.setFault(node, method, fault);
    await announcer.announce();
    expect(await fixture.depositsOf(wallet)).toEqual([]);
    fixture.localnet.controls.clearFaults();
    await announcer.announce();
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ slot: BigInt(slot), state: 'pending' }]);
  });

  it('reports an error of its own code', async () => {
    const { wallet } = await confirmedDeposit();
    const deps = fixture.deps();
    class Broken extends WatchSet {
      override hash(): number {
        throw new TypeError('boom');
      }
    }
    const watch = vi.spyOn(deps.matcher, 'watch').mockResolvedValue({ set: new Broken(1), version: 0n });
    const announcer = new DepositAnnouncer(deps);
    await expect(announcer.announce()).rejects.toThrow('boom');
    watch.mockRestore();
    await announcer.announce();
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ state: 'pending' }]);
  });

  it('reads a block once that a node lists twice', async () => {
    const { wallet, slot } = await confirmedDeposit();
    const alone = await openNodePool(nodes.pool.nodes.slice(0, 1).map(({ url }) => url));
    nodes.liar.edit = (method, _params, answer) => {
      if (method === 'getBlocks') answer.result = answer.result.flatMap((one: number) => [one, one]);
      return answer;
    };
    const asked = vi.spyOn(nodes.liar, 'edit');
    try {
      await new DepositAnnouncer(fixture.deps(alone)).announce();
      const shown = asked.mock.calls
        .filter(([method]) => method === 'getBlock')
        .map(([, params]) => params[0]);
      expect(shown).toContain(slot);
      expect(shown).toEqual([...new Set(shown)]);
      expect(await fixture.depositsOf(wallet)).toMatchObject([{ state: 'pending' }]);
    } finally {
      nodes.liar.beHonest();
      await alone.close();
    }
  });

  it('does not read a block again', async () => {
    await confirmedDeposit();
    const alone = await openNodePool(nodes.pool.nodes.slice(0, 1).map(({ url }) => url));
    const announcer = new DepositAnnouncer(fixture.deps(alone));
    const askedByALook = async (): Promise<readonly string[]> => {
      nodes.liar.asked = [];
      await announcer.announce();
      return nodes.liar.asked;
    };
    try {
      expect(await askedByALook()).toContain('getBlock');
      const again = await askedByALook();
      expect(again).toContain('getBlocks');
      expect(again).not.toContain('getBlock');
    } finally {
      await alone.close();
    }
  });
});

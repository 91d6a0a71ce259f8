import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { OutflowConfirmer } from '../../src/deposits/credits/confirm-outflows.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import type { OutflowRow } from '../../src/ledger/deposits/outflows.ts';
import { openAlertsIn } from './audit-support.ts';
import { HotPayer } from './hot-wallet-payments.ts';
import { isWholeBlock, useProxies } from './lying-proxy.ts';
import { useScanRoom } from './scan-fixture.ts';

const room = useScanRoom(3);
/** Nodes that must show a transaction. */
const QUORUM = 2;
const use = useProxies(room);
let payer: HotPayer;
let mint: string;

beforeAll(async () => {
  payer = await HotPayer.open(room);
  mint = room.localnet.mint.address;
});
beforeEach(async () => {
  await witness();
});

/** What a process that has just started asks for; how many transactions it asked for, of all nodes together. */
async function witness(): Promise<number> {
  for (const proxy of use.proxies) proxy.asked = [];
  await new OutflowConfirmer(room.deps(use.pool)).witness();
  return use.proxies.flatMap(({ asked }) => asked).filter((method) => method === 'getTransaction').length;
}

async function scan(): Promise<void> {
  await room.scanAll(new DepositScanner(room.deps(use.pool)));
}

async function outflowsOf(signature: string): Promise<readonly OutflowRow[]> {
  return room.ledger.db
    .selectFrom('outflow')
    .selectAll()
    .where('signature', '=', signature)
    .orderBy('asset')
    .execute();
}

/** A wallet that has the token account that a payment of tokens goes to. */
async function tokenHolder(): Promise<string> {
  const wallet = newAddress();
  await room.localnet.mintTo(mint, wallet, 1n);
  return wallet;
}

const PROVED = { witnessDue: false, witnessedBy: expect.stringMatching(/^paid-\d+\/1$/) };

describe('a payment of ours that has landed', () => {
  it('costs no question, of SOL or of tokens', async () => {
    for (const [asset, rows] of [
      ['SOL', 1],
      [mint, 2],
    ] as const) {
      const paid = await payer.pay(asset, await tokenHolder());
      await scan();
      await payer.settle(paid);
      expect(await witness()).toBe(0);
      expect(await outflowsOf(paid.signature)).toEqual(Array(rows).fill(expect.objectContaining(PROVED)));
    }
  });

  it('is asked for as to the rent of the account that it makes, which another one may have made before', async () => {
    const paid = await payer.pay(mint);
    await scan();
    await payer.settle(paid);
    expect(await witness()).toBeGreaterThanOrEqual(QUORUM);
    const [sol, tokens] = (await outflowsOf(paid.signature)).toSorted((a) => (a.asset === 'SOL' ? -1 : 1));
    expect(sol).toMatchObject({ witnessDue: false, witnessedBy: expect.stringContaining('127.0.0.1') });
    expect(tokens).toMatchObject(PROVED);
  });

  it('is waited for until its end is on record, though not for ever', async () => {
    const paid = await payer.pay('SOL');
    await scan();
    expect(await witness()).toBe(0);
    expect(await outflowsOf(paid.signature)).toMatchObject([{ witnessDue: true }]);
    await payer.settle(paid);
    expect(await witness()).toBe(0);
    expect(await outflowsOf(paid.signature)).toMatchObject([PROVED]);

    const held = await payer.pay('SOL');
    room.localnet.controls.skipSlots(300);
    room.finalize();
    await scan();
    expect(await witness()).toBeGreaterThanOrEqual(QUORUM);
    expect(await outflowsOf(held.signature)).toMatchObject([{ witnessDue: false }]);
    await payer.settle(held);
  });
});

describe('a quorum is asked', () => {
  it.each(['dead', 'failed'] as const)('where the record has the attempt as %s', async (state) => {
    const paid = await payer.pay('SOL');
    await scan();
    await payer.settle(paid, state);
    expect(await witness()).toBeGreaterThanOrEqual(QUORUM);
    expect(await outflowsOf(paid.signature)).toMatchObject([{ witnessDue: false }]);
  });

  it('where the record that was restored knows no such attempt', async () => {
    const paid = await payer.pay('SOL');
    await scan();
    await payer.settle(paid);
    await room.ledger.db.deleteFrom('attempt').where('signature', '=', paid.signature).execute();
    expect(await witness()).toBeGreaterThanOrEqual(QUORUM);
  });

  it.each<[string, (row: OutflowRow) => Partial<OutflowRow> | Promise<Partial<OutflowRow>>]>([
    ['another amount', ({ amount }) => ({ amount: amount - 1n })],
    ['another slot', ({ slot }) => ({ slot: slot - 1n })],
    ['another account', () => ({ account: newAddress() })],
    ['another wallet', async () => ({ wallet: await room.newDepositAddress() })],
  ])('where the scan was shown %s under its signature', async (_lie, lie) => {
    const paid = await payer.pay(mint, await tokenHolder());
    await scan();
    await payer.settle(paid);
    const [row] = (await outflowsOf(paid.signature)).filter(({ asset }) => asset === mint);
    if (row === undefined) throw new Error('no tokens left');
    const stored = room.ledger.db.updateTable('outflow').set(await lie(row));
    await stored.where('signature', '=', paid.signature).where('asset', '=', mint).execute();
    expect(await witness()).toBeGreaterThanOrEqual(QUORUM);
    for (const one of (await outflowsOf(paid.signature)).filter(({ asset }) => asset === mint))
      expect(one).toMatchObject({ ...row, witnessDue: false, witnessedBy: expect.anything() });
    expect(await openAlertsIn(room, 'deposit_mismatch')).toContain(paid.signature);
  });

  it('where the block that was shown lets more leave by it, and is believed instead', async () => {
    const paid = await payer.pay('SOL');
    for (const proxy of use.proxies)
      proxy.edit = (method, params, answer) => {
        for (const { transaction, meta } of isWholeBlock(method, params)
          ? (answer.result?.transactions ?? [])
          : [])
          if (transaction.signatures[0] === paid.signature) meta.postBalances[0] -= 1_000;
        return answer;
      };
    await scan();
    await payer.settle(paid);
    const [shown] = await outflowsOf(paid.signature);
    expect(await witness()).toBeGreaterThanOrEqual(QUORUM);
    const [row] = await outflowsOf(paid.signature);
    expect((shown?.amount ?? 0n) - (row?.amount ?? 0n)).toBe(1_000n);
  });
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Fault } from '../../devkit/localnet/faults.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);

/** One fault of a node, for slots near those that are read. */
type Wrong = (base: number) => { readonly method: string; readonly fault: Fault };

const wrongs: fc.Arbitrary<Wrong> = fc.oneof(
  fc.constant<Wrong>(() => ({ method: 'getBlocks', fault: { kind: 'result', result: [] } })),
  fc.constant<Wrong>(() => ({ method: 'getBlock', fault: { kind: 'null' } })),
  fc.constantFrom(-32007, -32009, -32001, -32004, -32014, -32603).map<Wrong>((code) => () => ({
    method: 'getBlock',
    fault: { kind: 'error', code, message: 'no' },
  })),
  fc.nat({ max: 12 }).map<Wrong>((at) => (base) => ({
    method: '*',
    fault: { kind: 'hole', from: base + at, to: base + at + 3 },
  })),
  fc.nat({ max: 12 }).map<Wrong>((at) => (base) => ({
    method: 'getBlocks',
    fault: { kind: 'result', result: [base, base + at, base + 3 * at] },
  })),
  fc
    .integer({ min: 1, max: 9 })
    .map<Wrong>((blocks) => () => ({ method: '*', fault: { kind: 'lag', blocks } })),
  fc.tuple(fc.nat({ max: 12 }), fc.nat({ max: 40 })).map<Wrong>(([parent, height]) => (base) => ({
    method: 'getBlock',
    fault: { kind: 'result', result: forgedBlock(base + parent, base + height) },
  })),
  fc.integer({ min: -3, max: 3 }).map<Wrong>((blocks) => () => ({
    method: '*',
    fault: { kind: 'height-offset', blocks },
  })),
);

function forgedBlock(parentSlot: number, blockHeight: number): unknown {
  const names = { blockhash: newAddress(), previousBlockhash: newAddress() };
  return { ...names, parentSlot, blockHeight, blockTime: 1, transactions: [], signatures: [] };
}

/** Every block up to the cursor is on the chain, and none is missing. */
async function holdsTheChain(from: bigint): Promise<void> {
  const cursor = await fixture.ledger.scan.cursor();
  const recorded = await fixture.ledger.scan.headersBetween(from, cursor?.slot ?? 0n);
  const { ledger } = fixture.localnet.controls.chain;
  const chain = ledger.range(Number(from), Number(cursor?.slot ?? 0n), undefined, () => true);
  expect(recorded.map(({ slot, blockhash }) => [slot, blockhash])).toEqual(
    chain.map(({ slot, blockhash }) => [BigInt(slot), blockhash]),
  );
}

/** The lagging node delays a read where the answer of another node is late, but not for long. */
async function scanToTheTip(scanner: DepositScanner): Promise<void> {
  const tip = BigInt(fixture.localnet.controls.chain.at('finalized').slot);
  await expect
    .poll(
      async () => {
        await fixture.scanAll(scanner);
        return (await fixture.ledger.scan.cursor())?.slot;
      },
      { timeout: 20_000 },
    )
    .toBe(tip);
}

it('the database has the whole chain and each deposit once, although one node of three hides, loses or forges blocks and all nodes fail for a while', async () => {
  const { controls } = fixture.localnet;
  await fixture.scanAll(fixture.scanner());
  const start = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
  const blocks = fc.array(fc.record({ skipped: fc.nat({ max: 3 }), paid: fc.boolean() }), {
    minLength: 1,
    maxLength: 10,
  });
  const check = fc.asyncProperty(
    blocks,
    wrongs,
    fc.array(wrongs, { maxLength: 2 }),
    async (shape, one, all) => {
      const wallet = await fixture.newDepositAddress();
      const base = controls.produceSlot();
      const amounts: bigint[] = [];
      for (const { skipped, paid } of shape) {
        controls.skipSlots(skipped);
        if (!paid) controls.produceSlot();
        else amounts.push(BigInt(2_000_000 + amounts.length));
        if (paid) await fixture.localnet.airdrop(wallet, amounts.at(-1) ?? 0n);
      }
      fixture.finalize();
      const wrong = one(base);
      controls.setFault(0, wrong.method, wrong.fault);
      for (const node of [0, 1, 2])
        for (const { method, fault } of all.map((make) => make(base)))
          if (node !== 0) controls.setFault(node, method, fault, { probability: 0.5, seed: base });
      const scanner = fixture.scanner();
      await fixture.scanAll(scanner).catch(() => undefined);
      await holdsTheChain(start);
      for (const node of [1, 2]) controls.clearFaults(node);
      await scanToTheTip(scanner);
      await holdsTheChain(start);
      expect((await fixture.depositsOf(wallet)).map(({ amount }) => amount).toReversed()).toEqual(amounts);
      controls.clearFaults();
    },
  );
  await fc.assert(check, { numRuns: 30 });
});

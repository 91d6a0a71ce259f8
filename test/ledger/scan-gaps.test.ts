import { describe, expect, it } from 'vitest';
import { address, chain, childOf, EMPTY_FINDING, inflow, START } from './chain-of-blocks.ts';
import { commit, confirmAll, importWallets, onlyDeposit, useDepositLedgers } from './deposit-ledger.ts';
import { codeOf } from './support.ts';

const use = useDepositLedgers();
const ANN = address('ann');
const NOTE = { actor: 'ops', reason: 'no node has them' };

async function kinds(): Promise<readonly string[]> {
  const { events } = await use.ledger.depositFeed.events(0n, 10);
  return events.map(({ kind }) => kind);
}

describe('a gap', () => {
  const child = {
    ...childOf(START, { skipped: 9 }),
    parentSlot: 109n,
    previousBlockhash: 'b109',
    height: 99n,
  };

  it('is open while the scan waits there, and filled when a node returns the blocks', async () => {
    expect(await use.ledger.gaps.open(START, { ...child, parentSlot: 120n })).toMatchObject({ toSlot: 120n });
    for (let times = 0; times < 2; times += 1)
      expect(await use.ledger.gaps.open(START, child)).toMatchObject({ fromSlot: 101n, toSlot: 109n });
    expect(await use.ledger.gaps.list(10)).toHaveLength(1);
    const open = { state: 'open', blockhash: 'b109', height: 98n };
    expect(await use.other.gaps.list(10)).toMatchObject([open]);
    const [first, ...others] = chain(START, [], [], [], [], [], [], [], [], []);
    if (first === undefined) throw new Error('nine blocks');
    await commit(use.ledger, [first]);
    const rest = { fromSlot: 102n, toSlot: 109n, state: 'open' };
    expect(await use.ledger.gaps.list(10)).toMatchObject([rest]);
    await commit(use.ledger, others, first.header);
    expect(await use.ledger.gaps.list(10)).toMatchObject([{ state: 'filled', actor: null }]);
    expect(await codeOf(use.ledger.gaps.close({ from: 101n, to: 109n, ...NOTE }))).toBe('NotFound');
    expect(await use.ledger.gaps.open(START, child)).toBeUndefined();
  });

  it('is closed by order of an operator, and the scan continues after its last block with linked blocks', async () => {
    await importWallets(use.ledger, ANN);
    await use.ledger.deposits.announce([
      { header: childOf(START), finding: { ...EMPTY_FINDING, inflows: [inflow(ANN)] } },
    ]);
    await use.ledger.gaps.open(START, child);
    expect(await codeOf(use.ledger.gaps.close({ from: 101n, to: 108n, ...NOTE }))).toBe('NotFound');
    const last = { slot: 109n, blockhash: 'b109', height: 98n };
    const close = { from: 101n, to: 109n, ...NOTE };
    expect(await use.ledger.gaps.close(close)).toEqual(last);
    expect(await use.ledger.gaps.close({ ...close, actor: 'another' })).toEqual(last);
    expect(await use.ledger.scan.cursor()).toEqual(last);
    expect(await kinds()).toEqual(['pending', 'dropped']);
    const next = { header: child, finding: EMPTY_FINDING };
    const { scan, watched } = use.ledger;
    const batch = { blocks: [next], watchVersion: await watched.version() };
    expect(await scan.commit({ ...batch, expected: START })).toBe('overtaken');
    expect(await scan.commit({ ...batch, expected: last })).toBe('committed');
  });

  it('that was closed is due for a rescan, which records its deposits without a hash', async () => {
    await importWallets(use.ledger, ANN);
    await use.ledger.gaps.open(START, child);
    await use.ledger.gaps.close({ from: 101n, to: 109n, ...NOTE });
    await commit(use.ledger, [{ header: child, finding: EMPTY_FINDING }], {
      ...START,
      slot: 109n,
      blockhash: 'b109',
      height: 98n,
    });
    expect(await use.ledger.backfills.listDue(10)).toMatchObject([{ fromSlot: 101n, toSlot: 109n, ...NOTE }]);
    const found = {
      header: { slot: 104n, blockhash: null, time: null },
      finding: { ...EMPTY_FINDING, inflows: [inflow(ANN)] },
    };
    const blocks = [found, found];
    const upsert = { blocks, watchVersion: await use.ledger.watched.version() };
    for (let times = 0; times < 2; times += 1) expect(await use.ledger.scan.upsert(upsert)).toBe('committed');
    expect(await use.ledger.deposits.list({ limit: 10 })).toMatchObject({
      rows: [{ slot: 104n, blockhash: null }],
    });
  });
});

describe('a deposit that was announced in a closed gap', () => {
  it('is found by the audit under its former id', async () => {
    await importWallets(use.ledger, ANN);
    const finding = { ...EMPTY_FINDING, inflows: [inflow(ANN)] };
    await use.ledger.deposits.announce([{ header: childOf(START), finding }]);
    const child = { ...childOf(START, { skipped: 9 }), parentSlot: 109n, height: 99n };
    await use.ledger.gaps.open(START, child);
    await use.ledger.gaps.close({ from: 101n, to: 109n, ...NOTE });
    const blocks = [{ header: { slot: 101n, blockhash: null, time: null }, finding }];
    const upsert = { blocks, watchVersion: await use.ledger.watched.version() };
    for (let times = 0; times < 2; times += 1) await use.ledger.scan.upsert(upsert);
    await confirmAll(use.ledger);
    expect(await onlyDeposit(use.ledger)).toMatchObject({ state: 'final', blockhash: null });
    expect(await kinds()).toEqual(['pending', 'dropped', 'pending', 'final']);
  });
});

describe('staged ranges', () => {
  const blocks = chain(START, [], [inflow(ANN, 2n ** 63n)], [], [inflow(ANN, 3n)], []);
  const range = (from: number, to: number) => blocks.slice(from, to);

  async function stage(from: bigint, to: bigint, found: typeof blocks) {
    const watchVersion = await use.ledger.watched.version();
    return use.other.stagedRanges.stage({ from, to, blocks: found, watchVersion });
  }

  it('are joined in the order of their links, staged in any order, and deleted then', async () => {
    await importWallets(use.ledger, ANN);
    await stage(104n, 106n, range(3, 5));
    expect(await use.ledger.stagedRanges.join(START)).toEqual({ kind: 'nothing' });
    await stage(101n, 101n, range(0, 1));
    await stage(102n, 103n, range(1, 3));
    await stage(107n, 108n, []);
    expect((await use.ledger.stagedRanges.list()).map(({ fromSlot }) => fromSlot)).toEqual([
      101n,
      102n,
      104n,
    ]);
    let last: Parameters<typeof commit>[2] = START;
    for (const { header } of [blocks[0], blocks[2], blocks[4]].flatMap((block) => block ?? [])) {
      const { slot, blockhash, height } = header;
      const joined = { kind: 'committed', cursor: { slot, blockhash, height } };
      expect(await use.ledger.stagedRanges.join(last ?? START)).toEqual(joined);
      expect(await use.ledger.stagedRanges.join(START)).toEqual({ kind: 'overtaken' });
      last = header;
    }
    expect(await use.ledger.stagedRanges.list()).toEqual([]);
    expect(await use.ledger.scan.headersBetween(101n, 110n)).toEqual(blocks.map(({ header }) => header));
    const { rows } = await use.ledger.deposits.list({ limit: 10 });
    expect(rows.map(({ amount }) => amount)).toEqual([3n, 2n ** 63n]);
  });

  it('are staged once by many workers that stage them at once', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => stage(101n, 103n, range(0, 3))));
    expect(new Set(all)).toEqual(new Set(['staged']));
    expect(await use.ledger.stagedRanges.list()).toHaveLength(1);
  });

  it('wait where they do not link, and are staged anew', async () => {
    const forged = childOf(START, { fork: 'x' });
    const child = { header: childOf(forged), finding: EMPTY_FINDING };
    await stage(102n, 102n, [child]);
    expect(await use.ledger.stagedRanges.join(START)).toEqual({ kind: 'nothing' });
    await stage(102n, 102n, []);
    expect(await use.ledger.stagedRanges.list()).toEqual([]);
    await stage(101n, 102n, [{ header: childOf(START), finding: EMPTY_FINDING }, child]);
    expect(await codeOf(use.ledger.stagedRanges.join(START))).toBe('IllegalTransition');
    await stage(101n, 102n, range(0, 1));
    expect(await use.ledger.stagedRanges.join(START)).toMatchObject({ kind: 'committed' });
  });

  it('are matched with the newest watch set when they are staged', async () => {
    await importWallets(use.ledger, ANN);
    const late = { from: 101n, to: 102n, blocks: chain(START, [], []), watchVersion: 0n };
    const found = range(0, 2);
    const { stagedRanges, watched } = use.ledger;
    expect(await stagedRanges.stage(late)).toBe('watch_set_changed');
    expect(await stagedRanges.list()).toEqual([]);
    const newest = { ...late, blocks: found, watchVersion: await watched.version() };
    expect(await stagedRanges.stage(newest)).toBe('staged');
    expect(await use.ledger.stagedRanges.join(START)).toMatchObject({ kind: 'committed' });
    expect(await use.ledger.deposits.list({ limit: 10 })).toMatchObject({ rows: [{ amount: 2n ** 63n }] });
    expect(await stagedRanges.stage({ ...late, watchVersion: 9n })).toBe('unknown_version');
  });
});

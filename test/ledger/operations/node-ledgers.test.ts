import { expect, it } from 'vitest';
import type { NodeLedger } from '../../../src/ledger/operations/node-ledgers.ts';
import { useLedger } from '../support.ts';

const use = useLedger();

it('keeps what each node showed last, and a gap until the node has another', async () => {
  const { nodeLedgers } = use.ledger;
  await nodeLedgers.keep(new Map());
  expect(await nodeLedgers.all()).toEqual(new Map());
  const gap = { from: 5n, to: 8n };
  const other = { first: 1n, finalized: 2n, gap: null };
  const seen = new Map<string, NodeLedger>([
    ['b', { first: 9n, finalized: 20n, gap }],
    ['a', other],
  ]);
  await nodeLedgers.keep(seen);
  expect(await nodeLedgers.all()).toEqual(seen);
  await nodeLedgers.keep(new Map<string, NodeLedger>([['b', { first: 9n, finalized: 30n, gap: null }]]));
  expect(await nodeLedgers.all()).toEqual(
    new Map<string, NodeLedger>([
      ['a', other],
      ['b', { first: 9n, finalized: 30n, gap }],
    ]),
  );
  const newer = { first: 29n, finalized: 31n, gap: { from: 9n, to: 28n } };
  await nodeLedgers.keep(new Map<string, NodeLedger>([['b', newer]]));
  expect((await nodeLedgers.all()).get('b')).toEqual(newer);
});

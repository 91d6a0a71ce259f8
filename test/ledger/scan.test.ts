import { beforeAll, expect, it } from 'vitest';
import { address, chain, inflow, START } from './chain-of-blocks.ts';
import { useLedger } from './support.ts';

const use = useLedger();
const [ANN] = [address('ann')];

beforeAll(async () => {
  await use.ledger.addresses.import([{ address: ANN, path: "m/44'/501'/0'/0'" }]);
  await use.ledger.addresses.assign('ann');
  await use.ledger.scan.start(START);
});

it('smoke', async () => {
  const { scan, watched, depositFeed, deposits } = use.ledger;
  const cursor = await scan.cursor();
  if (cursor === null) throw new Error('no cursor');
  const blocks = chain(START, [], [inflow(ANN)]);
  const batch = { expected: cursor, blocks, watchVersion: await watched.version(), rematch: () => [] };
  expect(await scan.commit(batch)).toBe('committed');
  expect(await scan.commit(batch)).toBe('committed');
  expect(await scan.header(102n)).toEqual(blocks[1]?.header);
  const events = await depositFeed.events(0n, 10);
  expect(events).toMatchObject([{ sequence: 1n, kind: 'pending', deposit: { userRef: 'ann', amount: 5n } }]);
  const [one] = await deposits.unconfirmed(10);
  if (one === undefined) throw new Error('none');
  expect(await deposits.confirm([{ id: one.id, amount: 5n, by: 'n2' }])).toEqual([one.id]);
  expect(await depositFeed.events(1n, 10)).toMatchObject([{ sequence: 2n, kind: 'final' }]);
  const seen = [];
  for await (const one of watched.stream()) seen.push(one);
  expect(seen).toEqual([ANN]);
  await use.ledger.assets.put({
    asset: 'SOL',
    program: null,
    decimals: 9,
    extensions: [],
    minimumDeposit: 1n,
    depositsOn: true,
  });
  await use.ledger.assets.put({
    asset: 'SOL',
    program: null,
    decimals: 9,
    extensions: ['x'],
    minimumDeposit: 1n,
    depositsOn: true,
  });
  await expect(
    use.ledger.assets.put({
      asset: 'SOL',
      program: null,
      decimals: 8,
      extensions: [],
      minimumDeposit: 1n,
      depositsOn: true,
    }),
  ).rejects.toThrow('on record');
  expect(await use.ledger.assets.list()).toMatchObject([{ extensions: ['x'] }]);
  expect(await use.ledger.movements.balancesOf([ANN], 200n)).toEqual([
    { wallet: ANN, account: ANN, asset: 'SOL', amount: 5n },
  ]);
});

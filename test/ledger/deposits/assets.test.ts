import { expect, it } from 'vitest';
import { address } from '../chain-of-blocks.ts';
import { codeOf, useLedger } from '../support.ts';

const use = useLedger();
const [MINT, PROGRAM] = [address('mint'), address('token program')];
const TOKEN = {
  asset: MINT,
  program: PROGRAM,
  decimals: 6,
  extensions: ['transferFeeConfig'],
  minimumDeposit: 2n ** 64n - 1n,
  depositsOn: true,
};
const SOL = {
  asset: 'SOL',
  program: null,
  decimals: 9,
  extensions: [],
  minimumDeposit: 0n,
  depositsOn: true,
};

it('an asset is listed once, and its terms may change, but not its values on the chain', async () => {
  const { assets } = use.ledger;
  expect(await assets.get(MINT)).toBeUndefined();
  expect(await assets.put(TOKEN)).toMatchObject(TOKEN);
  const changed = { ...TOKEN, extensions: [], minimumDeposit: 5n, depositsOn: false };
  expect(await assets.put(changed)).toMatchObject(changed);
  await assets.put(SOL);
  expect(await assets.put(SOL)).toMatchObject(SOL);
  for (const other of [
    { ...TOKEN, decimals: 9 },
    { ...TOKEN, program: address('another program') },
  ])
    expect(await codeOf(assets.put(other))).toBe('InvalidRequest');
  expect(await assets.list()).toMatchObject([SOL, changed]);
  expect(await assets.get(MINT)).toMatchObject(changed);
});

it('a change applies to the recorded terms, and a refused change lists no asset', async () => {
  const { assets } = use.ledger;
  const other = { ...TOKEN, asset: address('another mint') };
  const refuse = () => {
    throw new Error('refused');
  };
  await expect(assets.put(other, refuse)).rejects.toThrow('refused');
  expect(await assets.get(other.asset)).toBeUndefined();
  await assets.put(other, (known) => ({ ...known, minimumDeposit: 7n }));
  const off = await assets.put(other, (known) => ({ ...known, depositsOn: false }));
  expect(off).toMatchObject({ ...other, minimumDeposit: 7n, depositsOn: false });
});

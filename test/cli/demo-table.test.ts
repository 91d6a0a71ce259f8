import { expect, test } from 'vitest';
import { renderTable } from '../../devkit/demo/table.ts';

const CHAIN = {
  rpcUrls: [],
  mint: { address: 'Mint1', decimals: 6 },
  plantedMint: { address: 'Mint2', decimals: 6 },
};
const SIGNATURE = `46Yiq2SJ${'1'.repeat(79)}`;

test('a table of the demo prints decimals with the symbol of the asset, and the number of transfers', () => {
  const row = { what: 'one', status: 'finalized', asset: 'SOL', sent: 1_500_000_000n };
  const rows = [
    { ...row, received: [1_500_000_000n], note: SIGNATURE },
    { ...row, asset: 'Mint1', sent: 1_000_000n, received: [990_000n, 1n], note: SIGNATURE },
    { ...row, status: 'rejected', asset: 'Mint2', sent: 1_000n, received: [], note: 'not payable' },
    { ...row, asset: 'Mint3', sent: 5_000_000n, received: [5_000_000n], note: SIGNATURE },
  ];
  const lines = renderTable(['withdrawal', 'result', 'requested'], rows, CHAIN).split('\n');
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ['withdrawal', 'result', 'requested', 'transfers in the blocks', 'transaction'],
    ['one', 'finalized', '1.5 SOL', '1 × 1.5 SOL', '46Yiq2SJ…'],
    ['one', 'finalized', '1 TEST', '1 × 0.99 TEST + 1 × 0.000001 TEST', '46Yiq2SJ…'],
    ['one', 'rejected', '0.001 USDC', 'none', 'not payable'],
    ['one', 'finalized', '5 FAKE', '1 × 5 FAKE', '46Yiq2SJ…'],
  ]);
});

import { expect, it } from 'vitest';
import { verdictOn } from '../../src/deposits/credits/confirm.ts';
import type { Inflow } from '../../src/domain/deposit.ts';
import type { DepositRow } from '../../src/ledger/deposits/deposit-row.ts';
import { address, chain, inflow, START } from './chain-of-blocks.ts';
import { commit, importWallets, useDepositLedgers } from './deposit-ledger.ts';

const use = useDepositLedgers();
const [ANN, BOB] = [address('ann'), address('bob')];

async function onlyRow(): Promise<DepositRow> {
  const [row, ...others] = (await use.ledger.deposits.list({ limit: 2 })).rows;
  if (row === undefined || others.length > 0) throw new Error('there is one deposit');
  return row;
}

const GOOD = inflow(ANN, 7_000_000n, { signature: 's' });
const DUST = inflow(ANN, 1n, { signature: 's', reason: 'below_minimum' });
const BOBS = inflow(BOB, 7_000_000n, { signature: 's', account: ANN, reason: 'not_associated_account' });

it.each([
  ['too little', DUST, GOOD],
  ['too much', GOOD, DUST],
  ['internal', { ...GOOD, reason: 'internal' }, GOOD],
  ["another wallet's", BOBS, GOOD],
  ["another wallet's, whose it may be", { ...BOBS, reason: null }, GOOD],
] as const satisfies readonly (readonly [string, Inflow, Inflow])[])(
  'a deposit that one node returned as %s is judged by its real content, also where it is read again before a quorum is asked',
  async (_name, lie, truth) => {
    await importWallets(use.ledger, ANN, BOB);
    const [block] = chain(START, [lie]);
    if (block === undefined) throw new Error('there is one block');
    await commit(use.ledger, [block]);
    const again = { header: block.header, finding: { ...block.finding, inflows: [truth] } };
    const watchVersion = await use.ledger.watched.version();
    await use.ledger.scan.upsert({ blocks: [again], watchVersion });
    const { rows: alerts } = await use.ledger.alerts.list({ open: true, limit: 10 });
    expect(alerts.map(({ kind, subject }) => [kind, subject])).toEqual([['deposit_mismatch', 's']]);
    const row = await onlyRow();
    const answers = ['first', 'second'].map((node) => ({ node, answer: truth }));
    const verdict = verdictOn(row, answers, 2);
    if (verdict === null) throw new Error('a quorum shows it');
    expect(await use.ledger.deposits.confirm([{ row, verdict }])).toHaveLength(1);
    const { wallet, amount, reason } = truth;
    expect(await onlyRow()).toMatchObject({ wallet, amount, reason });
  },
);

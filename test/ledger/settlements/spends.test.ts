import { expect, it } from 'vitest';
import { address, childOf, EMPTY_FINDING, START } from '../chain-of-blocks.ts';
import { commit, useDepositLedgers } from '../deposit-ledger.ts';

const use = useDepositLedgers();
const HOT = address('hot');

it('a transaction that a hot wallet signed is judged once, unless it was before the history of the wallet', async () => {
  await use.ledger.watched.addHot([HOT]);
  const [early, later] = [childOf(START), childOf(childOf(START))];
  const signedIn = (header: typeof early) => ({
    header,
    finding: { ...EMPTY_FINDING, spends: [{ signature: `s-${header.slot}`, wallet: HOT, error: null }] },
  });
  await commit(use.ledger, [signedIn(early), signedIn(later)]);
  expect(await use.ledger.spends.unjudged(HOT, 10)).toEqual([]);
  await use.ledger.walletHistory.advance(HOT, early.slot);
  await use.ledger.walletHistory.advance(HOT, later.slot);
  const spend = { signature: `s-${later.slot}`, slot: later.slot };
  expect(await use.ledger.spends.unjudged(HOT, 10)).toEqual([{ ...spend, isOverdue: false }]);
  await use.ledger.db
    .updateTable('spend')
    .set({ seenAt: new Date(Date.now() - 11 * 60_000) })
    .execute();
  expect(await use.ledger.spends.unjudged(HOT, 10)).toEqual([{ ...spend, isOverdue: true }]);
  await use.ledger.spends.markJudged(HOT, [spend.signature]);
  expect(await use.ledger.spends.unjudged(HOT, 10)).toEqual([]);
});

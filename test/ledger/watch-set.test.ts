import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openLedger } from '../../src/ledger/ledger.ts';
import { withStatementTimeout } from '../support/postgres.ts';
import { address, chain, START } from './chain-of-blocks.ts';
import { commit, importWallets, useDepositLedgers } from './deposit-ledger.ts';
import { codeOf } from './support.ts';

const use = useDepositLedgers();
const [ANN, BEN, HOT] = [address('ann'), address('ben'), address('hot')];
const STATEMENT_TIMEOUT_MS = 1_000;

describe('the watch set', () => {
  it('is the streamed wallets and those added since', async () => {
    await importWallets(use.ledger, ANN);
    const version = await use.ledger.watched.version();
    await use.ledger.watched.addHot([HOT]);
    const streamed = [];
    for await (const one of use.ledger.watched.stream()) {
      streamed.push(one);
      await importWallets(use.other, BEN);
    }
    expect(streamed.toSorted()).toEqual([ANN, HOT].toSorted());
    const { version: newest, wallets } = await use.ledger.watched.changesSince(version);
    expect(wallets.toSorted((a, b) => a.kind.localeCompare(b.kind))).toEqual([
      { address: BEN, kind: 'deposit' },
      { address: HOT, kind: 'hot' },
    ]);
    expect(await use.ledger.watched.changesSince(newest)).toEqual({ version: newest, wallets: [] });
    expect(await codeOf(use.ledger.watched.changesSince(newest + 1n))).toBe('Unavailable');
  });

  it('is watched after all scanned blocks, also staged ones', async () => {
    const blocks = chain(START, [], []);
    const staged = { from: 101n, to: 150n, blocks, watchVersion: 0n };
    expect(await use.ledger.stagedRanges.stage(staged)).toBe('staged');
    await importWallets(use.ledger, ANN);
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ watchedAfter: 150n });
    expect(await commit(use.ledger, blocks)).toBe('committed');
  });

  it('is read to its end by a reader that takes longer than the statement timeout', async () => {
    const many = Array.from({ length: 25_000 }, (_, index) => ({ address: address(`w${index}`), path: 'm' }));
    expect(await use.ledger.addresses.import(many)).toEqual({ imported: 25_000, known: 0 });
    const brief = await openLedger(withStatementTimeout(use.url, STATEMENT_TIMEOUT_MS));
    let count = 0;
    for await (const _one of brief.watched.stream()) {
      // Longer than the timeout of a silent pool connection.
      if (count === 0) await sleep(STATEMENT_TIMEOUT_MS + 1_500);
      count += 1;
    }
    expect(count).toBe(25_000);
    // A reader that stops early leaves no connection open.
    for await (const _one of brief.watched.stream()) break;
    await brief.close();
  });
});

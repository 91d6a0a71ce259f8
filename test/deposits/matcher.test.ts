import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { DepositMatcher } from '../../src/deposits/scan/matcher.ts';
import { chainReader } from '../../src/deposits/scan/scanner.ts';
import { type WatchDifference, WatchedWallets } from '../../src/ledger/scan/watched.ts';
import { WatchSet } from '../../src/solana/scan/bytes/watch-set.ts';
import { finalizedTip } from '../../src/solana/scan/frontier.ts';
import { waitForLockWaits } from '../ledger/deposit-ledger.ts';
import { attempt, newId, PLENTY, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { useScanFixture } from './scan-fixture.ts';

/** `maxAgeMs`: the watch set in memory is never used where the database may have more. */
const OPTIONS = {
  ownerChangeAllowed: false,
  maxTransactionVersion: 1,
  minimumLamports: async () => 1n,
  maxAgeMs: 0,
};

/** The watched wallets of the database; a test can hold the query for new wallets. */
class SlowWatched extends WatchedWallets {
  #block: Promise<void> | null = null;

  /** Holds the next query until the returned function is called; `asked` resolves when the query arrives. */
  holdNext(): { readonly asked: Promise<void>; readonly letGo: () => void } {
    let letGo = (): void => undefined;
    const block = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    this.#block = block;
    const asked = (async () => {
      while (this.#block === block) await sleep(5);
    })();
    return { asked, letGo };
  }

  override async changesSince(version: bigint): Promise<WatchDifference> {
    const block = this.#block;
    this.#block = null;
    await block;
    return super.changesSince(version);
  }
}

describe('the watch set in memory', () => {
  const use = useLedger();

  it('holds all wallets up to its version, although it was dropped during a read of new wallets', async () => {
    const watched = new SlowWatched(use.ledger.db, use.url);
    const matcher = new DepositMatcher({ ...use.ledger, watched }, OPTIONS);
    const { asked, letGo } = watched.holdNext();
    const first = matcher.watch();
    await asked;
    matcher.forget();
    await matcher.watch();
    const address = newAddress();
    await use.ledger.addresses.import([{ address, path: 'm' }]);
    letGo();
    await first;
    const { set, version } = await matcher.watch();
    expect([version, set.has(address)]).toEqual([await use.ledger.watched.version(), true]);
  });
});

describe('the matcher', () => {
  const fixture = useScanFixture();

  /** The searched blocks after the cursor, once this wallet was paid, as a scanner reads them. */
  async function readPaid(matcher: DepositMatcher, wallet: string) {
    await fixture.scanAll(fixture.scanner());
    const expected = await fixture.ledger.scan.cursor();
    const signature = await fixture.localnet.airdrop(wallet, 5_000_000n);
    fixture.finalize();
    if (expected === null) throw new Error('the scan has begun');
    const reader = chainReader({ pool: fixture.pool, matcher }, 1_000_000);
    const tip = await finalizedTip(fixture.pool);
    // The first reading has one block, which shows the block size; the next one has all.
    await reader.readAfter(expected, tip);
    const reading = await reader.readAfter(expected, tip);
    if (reading.kind !== 'linked') throw new Error(`the blocks are ${reading.kind}`);
    return { expected, blocks: reading.blocks, signature };
  }

  /** Imports the wallet in this many commit attempts: the import of the last attempt waits for the commit. */
  async function commitWhileImporting(matcher: DepositMatcher, wallet: string, imports: number) {
    const { expected, blocks } = await readPaid(matcher, wallet);
    const wallets = [wallet, ...Array.from({ length: imports - 1 }, () => newAddress())];
    const importing: Promise<unknown>[] = [];
    const results: string[] = [];
    await matcher.commit(blocks, async (matched) => {
      const address = wallets[results.length];
      if (address !== undefined) {
        const begun = fixture.ledger.addresses.import([{ address, path: `m/${address}` }]);
        importing.push(begun);
        await Promise.race([begun, waitForLockWaits(fixture.ledger.db)]);
      }
      const result = await fixture.ledger.scan.commit({ expected, ...matched });
      results.push(result);
      return result;
    });
    await Promise.all(importing);
    return results;
  }

  it('matches again for a wallet that is added before the commit', async () => {
    const wallet = newAddress();
    const results = await commitWhileImporting(new DepositMatcher(fixture.ledger, OPTIONS), wallet, 1);
    expect(results).toEqual(['watch_set_changed', 'committed']);
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ amount: 5_000_000n, reason: null }]);
  });

  it('commits at the third attempt, however many wallets are added meanwhile', async () => {
    const wallet = newAddress();
    const results = await commitWhileImporting(new DepositMatcher(fixture.ledger, OPTIONS), wallet, 9);
    expect(results).toEqual(['watch_set_changed', 'watch_set_changed', 'committed']);
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ amount: 5_000_000n, reason: null }]);
  });

  it('finds a wallet that is added between the search of a block and its match', async () => {
    const matcher = new DepositMatcher(fixture.ledger, OPTIONS);
    const wallet = newAddress();
    const { expected, blocks } = await readPaid(matcher, wallet);
    await fixture.ledger.addresses.import([{ address: wallet, path: `m/${wallet}` }]);
    await matcher.watch();
    const matched = await matcher.match(blocks);
    expect(await fixture.ledger.scan.commit({ expected, ...matched })).toBe('committed');
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ amount: 5_000_000n, reason: null }]);
  });

  it('classifies the transfers of our own attempt as internal, whatever wallet signed it', async () => {
    const { attempts, scan, withdrawals } = fixture.ledger;
    const { matcher } = fixture.deps();
    const wallet = await fixture.newDepositAddress();
    const { expected, blocks, signature } = await readPaid(matcher, wallet);
    const id = newId();
    await withdrawals.reserve(terms(id));
    await attempts.prepare(attempt(id), PLENTY);
    await attempts.storeSignature(id, 1, signature);
    expect(await scan.commit({ expected, ...(await matcher.match(blocks)) })).toBe('committed');
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ signature, reason: 'internal' }]);
  });

  it('credits the payment of a buyer, although the settlement is adopted', async () => {
    const { attempts, scan, withdrawals } = fixture.ledger;
    const { matcher } = fixture.deps();
    const wallet = await fixture.newDepositAddress();
    const { expected, blocks, signature } = await readPaid(matcher, wallet);
    const id = newId();
    await withdrawals.reserve(terms(id));
    await attempts.prepare(attempt(id, 1, { adoptedFrom: 'a-block', signatures: [signature] }), []);
    expect(await scan.commit({ expected, ...(await matcher.match(blocks)) })).toBe('committed');
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ signature, reason: null }]);
  });

  it('searches a block again that it searched with the watch set of a database before a restore', async () => {
    const { matcher } = fixture.deps();
    const wallet = await fixture.newDepositAddress();
    const { expected, blocks } = await readPaid(matcher, wallet);
    const lost = { set: new WatchSet(1), version: (await fixture.ledger.watched.version()) + 9n };
    const stale = blocks.map((block) => ({ ...block, candidates: [], transactions: [], watch: lost }));
    const matched = await matcher.match(stale);
    expect(await fixture.ledger.scan.commit({ expected, ...matched })).toBe('committed');
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ amount: 5_000_000n }]);
  });
});

import { WatchSet } from '../../src/solana/scan/watch-set.ts';
import { Chance } from './block.ts';
import { walletText } from './wallets.ts';

// Its own process, so that nothing else grows or shrinks meanwhile. Prints bytes for each wallet beyond those of an empty set.
const wallets = Number(process.argv[2]);
const chance = new Chance(1);
for (let index = 0; index < 1_000_000; index += 1) walletText(chance);
const empty = new WatchSet(0);
globalThis.gc?.();
const before = process.memoryUsage().rss;
const watched = new WatchSet(wallets);
for (let index = 0; index < wallets; index += 1) watched.add(walletText(chance));
globalThis.gc?.();
const bytes = process.memoryUsage().rss - before;
process.stdout.write(JSON.stringify({ bytes, wallets: watched.size + empty.size }));

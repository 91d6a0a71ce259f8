import { Lookups, WatchSet } from '../../src/solana/scan/bytes/watch-set.ts';
import { Chance } from '../chance.ts';
import { median } from '../figures.ts';
import { walletText } from './wallets.ts';

/** What a watch set takes. */
export interface WatchSetFigures {
  /** Growth of the process beyond that with an empty set. */
  readonly bytesPerWallet: number;
  /** Processor time of a question as the scan asks, hundreds at once, hash included. */
  readonly lookupNanoseconds: number;
  /** The same asked one by one. */
  readonly loneLookupNanoseconds: number;
}

const WARM_UP = 1_000_000;
const REPETITIONS = 30;
const QUESTIONS = 50_000;
/** One question in so many is about a wallet of the set. */
const MEMBER_EVERY = 100;
/** The filter can take an address outside the set for a member. This many such answers are accepted in a measurement. */
const MAX_FALSE_HITS = 5;

const wallets = Number(process.argv[2]);
const chance = new Chance(1);
const members = Array.from({ length: QUESTIONS / MEMBER_EVERY }, () => walletText(chance));
for (let index = 0; index < WARM_UP; index += 1) walletText(chance);
const empty = new WatchSet(0);
globalThis.gc?.();
const before = process.memoryUsage().rss;
const filled = new WatchSet(wallets);
for (const member of members) filled.add(member);
while (filled.size < wallets) filled.add(walletText(chance));
globalThis.gc?.();
const bytes = process.memoryUsage().rss - before - empty.size;
const figures: WatchSetFigures = { bytesPerWallet: bytes / wallets, ...timesOf(filled) };
process.stdout.write(JSON.stringify(figures));

function timesOf(set: WatchSet): Omit<WatchSetFigures, 'bytesPerWallet'> {
  const asked = Array.from({ length: QUESTIONS }, (_, index) =>
    index % MEMBER_EVERY === 0 ? (members[index / MEMBER_EVERY] ?? '') : walletText(chance),
  );
  const text = Buffer.from(asked.join(''));
  const view = new DataView(text.buffer, text.byteOffset, text.length);
  const length = text.length / QUESTIONS;
  const together = () => {
    const lookups = new Lookups(set, view);
    for (let at = 0; at < text.length; at += length) lookups.add(at, at + length);
    return lookups.matches().length;
  };
  const alone = () => {
    let found = 0;
    for (let at = 0; at < text.length; at += length) found += Number(set.hasBytes(view, at, at + length));
    return found;
  };
  return { lookupNanoseconds: nanoseconds(together), loneLookupNanoseconds: nanoseconds(alone) };
}

/** The median time of one lookup over several rounds. `ask` returns how many members it found. */
function nanoseconds(ask: () => number): number {
  const times = Array.from({ length: REPETITIONS }, () => {
    const start = process.cpuUsage();
    const found = ask();
    const { user, system } = process.cpuUsage(start);
    if (found < members.length || found > members.length + MAX_FALSE_HITS)
      throw new Error(`${found} of ${members.length} members are found`);
    return user + system;
  });
  return (median(times) * 1_000) / QUESTIONS;
}

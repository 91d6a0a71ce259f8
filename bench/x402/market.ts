import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ChainKind, type LocalChain, mintsOf, startChain } from '../../devkit/localstack/chain.ts';
import { keypairFile } from '../../devkit/localstack/keypair.ts';
import type { Token } from '../../devkit/localstack/payer.ts';
import { startValidator } from '../../devkit/localstack/validator.ts';
import type { Closers } from '../../src/platform/shutdown.ts';
import type { CountingProxy } from '../../test/peers/counting-proxy.ts';
import { benchEnvironment } from '../settings.ts';
import { startOfficialSeller } from './official.ts';
import type { Pids } from './processes.ts';
import { startSluice } from './sluice.ts';

/** One of the two compared sellers. */
export interface Seller {
  readonly name: 'ours' | 'theirs';
  /** The priced route. */
  readonly url: string;
  /** The wallet that receives the payments. */
  readonly payTo: string;
  /** Between the seller and the node. */
  readonly node: CountingProxy;
  /** Between the node and those processes of the product that serve no payment; null if there are none. */
  readonly besideNode: CountingProxy | null;
  /** All processes, with the servers that they need: Temporal and PostgreSQL. */
  readonly processes: Pids;
  /** Resolves when every payment is settled and nothing remains to do for any. */
  settled(): Promise<void>;
}

export type BySeller<T> = Readonly<Record<Seller['name'], T>>;

/** Both sellers on one chain. */
export interface Market {
  readonly chain: LocalChain;
  readonly nodeUrl: string;
  readonly token: Token;
  readonly sellers: readonly [ours: Seller, theirs: Seller];
}

export interface MarketOptions {
  /** On a validator the whole product runs: also a chain worker, which scans, and the signer. */
  readonly chain: ChainKind;
  /** Of localnet, like `finalityLag`. */
  readonly slotMs: number;
  readonly finalityLag: number;
  /** Flags of Node.js for the API and the x402 worker, such as `--cpu-prof`. */
  readonly flags: readonly string[];
}

/** The chain, and where the sellers keep their files. */
export interface Place {
  readonly chain: LocalChain;
  readonly nodeUrl: string;
  readonly token: Token;
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
}

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

/** Starts the chain, our product, and the official server with its facilitator. */
export async function openMarket(options: MarketOptions, closers: Closers): Promise<Market> {
  const dir = resolve('.sluice/bench-x402');
  mkdirSync(dir, { recursive: true });
  const env = benchEnvironment();
  const hotWallet = keypairFile(join(dir, 'keys', 'hot-wallet.json'));
  const start = options.chain === 'validator' ? startValidator : startChain;
  const { slotMs, finalityLag } = options;
  const chainOptions = { slotMs, finalityLag, nodes: 1, stateDir: dir, env };
  const chain = await start({ ...chainOptions, hotWallet: hotWallet.address });
  closers.add('chain', () => chain.stop());
  const { plantedMint, mint = '' } = mintsOf(chain.info);
  const token = { mint: plantedMint ?? mint, program: TOKEN_PROGRAM };
  const place: Place = { chain, nodeUrl: chain.info.rpcUrls[0] ?? '', token, dir, env };
  const isWhole = options.chain === 'validator';
  const ours = await startSluice(place, { flags: options.flags, isWhole, hotWallet }, closers);
  const theirs = await startOfficialSeller(place, closers);
  return { ...place, sellers: [ours, theirs] };
}

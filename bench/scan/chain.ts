import { newAddress } from '../../devkit/localstack/keypair.ts';
import { startPostgres } from '../../devkit/localstack/postgres.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { type BlockShape, PAID_MINT } from './block.ts';
import { Child } from './child.ts';
import { ourWallets } from './ours.ts';
import type { ScannerAnswer, ScannerQuestion } from './scanner.ts';
import type { ServerAnswer, ServerQuestion } from './server.ts';

/** The block behind which the scan begins. */
const FIRST = 1;
const STRANGERS_WATCHED = 20_000;

export type ScannerProcess = Child<ScannerQuestion, ScannerAnswer>;

/** What blocks hold, and how many scan them. */
export interface BenchPlan {
  readonly shape: BlockShape;
  /** Blocks of different transactions; they take turns. */
  readonly bodies: number;
  readonly scanners: number;
  /** Blocks of one range of a catch-up. */
  readonly rangeBlocks: number;
}

/** A chain of synthetic blocks, a record of our wallets, and scanners. */
export interface BenchChain {
  readonly ledger: Ledger;
  readonly wallets: readonly string[];
  readonly rpcUrls: readonly string[];
  readonly blockBytes: number;
  readonly scanners: readonly ScannerProcess[];
  /** The newest slot. */
  readonly tip: number;
  /** Adds finalized blocks; the first and last of their slots. */
  readonly grow: (blocks: number) => Promise<{ readonly from: number; readonly to: number }>;
}

/** Works on a chain, database and scanners of their own, each a process, and stops them. */
export async function onChain<T>(
  { shape, bodies, scanners, rangeBlocks }: BenchPlan,
  work: (chain: BenchChain) => Promise<T>,
): Promise<T> {
  const server = new Child<ServerQuestion, ServerAnswer>(new URL('./server.ts', import.meta.url));
  const workers = Array.from(
    { length: scanners },
    (): ScannerProcess => new Child(new URL('./scanner.ts', import.meta.url)),
  );
  const postgres = await startPostgres({ env: {} });
  const ledger = await openLedger(postgres.url);
  try {
    const wallets = ourWallets(shape);
    await record(ledger, wallets);
    const made = await server.ask({ shape, wallets, bodies });
    let tip = FIRST;
    const grow = async (blocks: number) => {
      const from = tip + 1;
      tip += blocks;
      await server.ask({ finalized: tip });
      return { from, to: tip };
    };
    for (const worker of workers)
      await worker.ask({ kind: 'open', databaseUrl: postgres.url, rpcUrls: made.rpcUrls, rangeBlocks });
    return await work({
      ...made,
      ledger,
      wallets,
      scanners: workers,
      grow,
      get tip() {
        return tip;
      },
    });
  } finally {
    await Promise.all([server, ...workers].map((child) => child.stop()));
    await ledger.close();
    await postgres.stop();
  }
}

async function record(ledger: Ledger, wallets: readonly string[]): Promise<void> {
  const strangers = Array.from({ length: STRANGERS_WATCHED }, () => newAddress());
  await ledger.addresses.import([...wallets, ...strangers].map((address) => ({ address, path: address })));
  const terms = { program: TOKEN_PROGRAM, decimals: 6, extensions: [], minimumDeposit: 1n, depositsOn: true };
  await ledger.assets.put({ asset: PAID_MINT, ...terms });
}

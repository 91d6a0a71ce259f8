import { createPreparation } from '../../src/activities/withdrawals.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { blockhashLifetimes } from '../../src/settlement/lifetimes.ts';
import type { NodePool } from '../../src/solana/rpc/pool.ts';
import { type FeeOptions, FeePlanner } from '../../src/solana/tx/fees.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import { Composer } from '../../src/withdrawals/compose.ts';
import { withdrawalKind } from '../../src/withdrawals/kind.ts';
import { QUICK_PRICES, quickChain } from './quick-chain.ts';

/** The preparation of a worker that has just started and has simulated nothing yet. */
export function quickPreparation(
  ledger: Ledger,
  { pool, address: hotWallet }: { readonly pool: NodePool; readonly address: string },
  prices: FeeOptions = QUICK_PRICES,
): ReturnType<typeof createPreparation> {
  const chain = quickChain(pool);
  const composer = new Composer({
    chain,
    fees: new FeePlanner(chain, prices),
    lifetimes: blockhashLifetimes(chain),
    rules: {
      hotWallet,
      confirmUsedWallet: false,
      tokenPolicy: {},
      listed: (mint) => ledger.assets.get(mint),
    },
    bounds: { priceCapMicroLamports: 1_000_000n, maxFeeLamports: 500_000n, allowHookAccounts: false },
  });
  const walletWatch = new WalletWatch({ ledger, chain, hotWallet });
  return createPreparation({ ledger, kind: withdrawalKind({ ledger, composer, walletWatch, chain }) });
}

import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { WithdrawalRow } from '../../src/ledger/withdrawals/withdrawals.ts';
import type { AttemptPosition } from '../../src/settlement/kind.ts';
import { blockhashLifetimes } from '../../src/settlement/lifetimes.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { FeePlanner } from '../../src/solana/tx/fees.ts';
import { Composer } from '../../src/withdrawals/compose.ts';
import type { PayeeRules } from '../../src/withdrawals/payee.ts';
import { QUICK_PRICES, quickChain } from '../support/quick-chain.ts';

/** A chain of one node whose blocks the test makes, and composers that pay from its hot wallet. */
export interface CompositionFixture {
  readonly localnet: Localnet;
  readonly hotWallet: string;
  /** A composer that has read nothing of the chain yet. */
  composer(rules?: Partial<PayeeRules>): Composer;
  close(): Promise<void>;
}

export async function openCompositionFixture(): Promise<CompositionFixture> {
  const hotWallet = newAddress();
  const localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 1, hotWallet });
  const pool = await openNodePool(localnet.rpcUrls);
  return {
    localnet,
    hotWallet,
    composer: (rules = {}) => {
      const chain = quickChain(pool);
      return new Composer({
        chain,
        fees: new FeePlanner(chain, QUICK_PRICES),
        lifetimes: blockhashLifetimes(chain),
        rules: { hotWallet, confirmUsedWallet: false, tokenPolicy: {}, ...rules },
        bounds: {
          priceCapMicroLamports: QUICK_PRICES.capMicroLamports,
          maxFeeLamports: 500_000n,
          allowHookAccounts: false,
          allowVaults: rules.allowVaults ?? false,
        },
      });
    },
    close: async () => {
      await pool.close();
      await localnet.close();
    },
  };
}

/** The position of a first attempt. */
export const FIRST_ATTEMPT: AttemptPosition = { n: 1, salt: 0n, lastPrice: null };

/** A withdrawal as it is stored, of 1,000 base units to a fresh wallet. */
export function withdrawalRow(asset: string, changes: Partial<WithdrawalRow> = {}): WithdrawalRow {
  return {
    id: 'composed',
    asset,
    amount: 1_000n,
    destination: newAddress(),
    acceptEmptyWallet: true,
    memo: null,
    fingerprint: '',
    status: 'requested',
    reason: null,
    confirmedByCustomer: false,
    amountReceived: null,
    createdAt: new Date(),
    updatedAt: new Date(),
    ...changes,
  };
}

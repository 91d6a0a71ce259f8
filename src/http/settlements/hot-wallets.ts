import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ledger } from '../../ledger/ledger.ts';
import { route } from '../route.ts';
import { text, time, u64 } from '../schemas.ts';

/** Far above the number of current and former hot wallets of an exchange, so that the list needs no pages. */
const MAX_HOT_WALLETS = 1_000;

const BalanceBody = z.object({
  account: text('Account that has the balance: the wallet for SOL, or else a token account'),
  asset: text('`SOL` or the address of a mint'),
  amount: u64.describe('Balance in base units'),
});

const HotWalletBody = z
  .object({
    address: text('Address of the wallet in base58'),
    baseline: z
      .object({
        slot: u64.describe('Finalized slot at which the balances were read'),
        takenAt: time.describe('Time at which the baseline was stored'),
        balances: z.array(BalanceBody).readonly().describe('Balances of the wallet; SOL is always included'),
      })
      .meta({ id: 'WalletBaseline' })
      .nullable()
      .describe('Balances from which reconciliation starts; null until the balances have been read'),
  })
  .meta({ id: 'HotWallet' });

const HotWalletsBody = z
  .object({ hotWallets: z.array(HotWalletBody).readonly().describe('Current and former hot wallets') })
  .meta({ id: 'HotWallets' });

export function hotWalletRoute(app: FastifyInstance, { ledger }: { readonly ledger: Ledger }): void {
  route(app, 'GET', '/v1/hot-wallets', {
    operationId: 'listHotWallets',
    tags: ['operations'],
    summary: 'List hot wallets and their baseline balances',
    response: HotWalletsBody,
    handler: async () => {
      const addresses = await ledger.watched.page(null, MAX_HOT_WALLETS, 'hot');
      const baselineOf = async (address: string) => ({
        address,
        baseline: await ledger.baselines.of(address),
      });
      return { hotWallets: await Promise.all(addresses.map(baselineOf)) };
    },
  });
}

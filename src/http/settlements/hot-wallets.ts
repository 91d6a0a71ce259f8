import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ledger } from '../../ledger/ledger.ts';
import { route } from '../route.ts';
import { text, time, u64 } from '../schemas.ts';

/** Includes former hot wallets; an exchange has a few. */
const MAX_SHOWN = 1_000;

const BalanceBody = z.object({
  account: text('The wallet for SOL, else a token account'),
  asset: text('`SOL` or the address of a mint'),
  amount: u64.describe('Base units'),
});

const HotWalletBody = z
  .object({
    address: text('Address of the wallet in base58'),
    baseline: z
      .object({
        slot: u64.describe('Finalized slot of these balances'),
        takenAt: time.describe('Time at which the baseline was stored'),
        balances: z.array(BalanceBody).readonly().describe('Balances of the wallet; SOL is always included'),
      })
      .meta({ id: 'WalletBaseline' })
      .nullable()
      .describe('Balances from which reconciliation starts; null until they are read'),
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
      const addresses = await ledger.watched.page(null, MAX_SHOWN, 'hot');
      const baselineOf = async (address: string) => ({
        address,
        baseline: await ledger.baselines.of(address),
      });
      return { hotWallets: await Promise.all(addresses.map(baselineOf)) };
    },
  });
}

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { HotWallet, WalletBaseline } from '../../client/hot-wallets.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Baseline } from '../../ledger/reconciliation/baselines.ts';
import { problems, time, u64 } from '../schemas.ts';

/** Includes former hot wallets; an exchange has a few. */
const MOST_SHOWN = 1_000;

const BalanceBody = z.object({
  account: z.string().describe('The wallet for SOL, else a token account'),
  asset: z.string().describe('`SOL` or the address of a mint'),
  amount: u64.describe('Base units'),
});

const HotWalletBody = z
  .object({
    address: z.string().describe('Address of the wallet in base58'),
    baseline: z
      .object({
        slot: u64.describe('Finalized slot of these balances'),
        takenAt: time.describe('Time at which the baseline was stored'),
        balances: z.array(BalanceBody).readonly().describe('Balances of the wallet; SOL is always included'),
      })
      .nullable()
      .describe('Balances from which reconciliation starts; null until they are read'),
  })
  .meta({ id: 'HotWallet' }) satisfies z.ZodType<HotWallet>;

export function hotWalletRoute({ ledger }: { readonly ledger: Ledger }): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/hot-wallets',
      schema: {
        operationId: 'listHotWallets',
        tags: ['operations'],
        summary: 'List hot wallets and their baseline balances',
        response: {
          200: z.object({
            hotWallets: z.array(HotWalletBody).readonly().describe('Current and former hot wallets'),
          }),
          ...problems,
        },
      },
      handler: async () => {
        const addresses = await ledger.watched.page(null, MOST_SHOWN, 'hot');
        const shown = addresses.map(async (address) => ({
          address,
          baseline: present(await ledger.baselines.of(address)),
        }));
        return { hotWallets: await Promise.all(shown) };
      },
    });
  };
}

function present(baseline: Baseline | null): WalletBaseline | null {
  if (baseline === null) return null;
  const { slot, takenAt, balances } = baseline;
  return {
    slot: slot.toString(),
    takenAt: takenAt.toISOString(),
    balances: balances.map(({ account, asset, amount }) => ({ account, asset, amount: amount.toString() })),
  };
}

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { HotWallet, WalletBaseline } from '../client/hot-wallets.ts';
import type { Baseline } from '../ledger/baselines.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { problems, time, u64 } from './schemas.ts';

/** Every hot wallet there ever was; an exchange has a handful. */
const MOST_SHOWN = 1_000;

const BalanceBody = z.object({
  account: z.string().describe('The wallet for SOL, else a token account'),
  asset: z.string().describe('`SOL`, or the address of a mint'),
  amount: u64.describe('Base units'),
});

const HotWalletBody = z
  .object({
    address: z.string().describe('The wallet, base58'),
    baseline: z
      .object({
        slot: u64.describe('The finalized slot at which it held this'),
        takenAt: time.describe('When it was put on record'),
        balances: z.array(BalanceBody).readonly().describe('SOL among them, also where it was nothing'),
      })
      .nullable()
      .describe('What it held at that slot; later balances are held against it and what moved'),
  })
  .meta({ id: 'HotWallet' }) satisfies z.ZodType<HotWallet>;

/** `GET /v1/hot-wallets`: the wallets that we pay from, and from where on their balances are reconciled. */
export function hotWalletRoute({ ledger }: { readonly ledger: Ledger }): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/hot-wallets',
      schema: {
        tags: ['operations'],
        summary: 'List hot wallets, with the balances that reconciliation begins with',
        response: {
          200: z.object({
            hotWallets: z.array(HotWalletBody).readonly().describe('Also those that we paid from once'),
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

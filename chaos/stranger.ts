import { rpc } from '../devkit/localstack/rpc.ts';
import { deriveAta } from '../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../src/solana/tx/programs.ts';
import type { PlannedWithdrawal } from './demand.ts';
import type { Heal } from './heal.ts';
import type { Injection } from './schedule.ts';
import { type ChaosMarket, tokenOrders } from './wanted.ts';

/** Less than a token account must hold, though enough for an empty one; and more. */
const LAMPORTS = [1_000_000, 10_000_000] as const;
/** Orders that come so long after the fault are met by it, too. */
const AHEAD_MS = 20_000;

/** What a stranger knows of the payments to come. */
export interface Coming {
  readonly rpcUrls: readonly string[];
  readonly market: ChaosMarket;
  readonly orders: readonly PlannedWithdrawal[];
}

/**
 * A stranger sends lamports to the token accounts that the coming withdrawals will make. The answer of the heal is how many of these
 * accounts were funded while they did not exist.
 */
export async function fundTokenAccounts(
  { rpcUrls, market, orders }: Coming,
  { atMs, untilMs }: Injection,
): Promise<Heal> {
  const [url = ''] = rpcUrls;
  const coming = orders.filter((order) => order.atMs > atMs && order.atMs < untilMs + AHEAD_MS);
  const accounts = new Set(
    tokenOrders(coming.map(({ terms }) => terms)).map(({ asset, destination }) =>
      deriveAta(destination, asset, asset === market.mint ? TOKEN_PROGRAM : TOKEN_2022_PROGRAM),
    ),
  );
  const funded: string[] = [];
  for (const account of accounts) {
    if (await accountExists(url, account)) continue;
    const lamports = LAMPORTS[funded.length % LAMPORTS.length];
    await rpc(url, 'localnet_healthy', ['requestAirdrop', account, lamports]);
    funded.push(account);
  }
  return async () => {
    const there = await Promise.all(funded.map((account) => accountExists(url, account)));
    return there.filter(Boolean).length;
  };
}

async function accountExists(url: string, account: string): Promise<boolean> {
  const config = { commitment: 'confirmed', encoding: 'base64' };
  const { value } = await rpc<{ value: unknown }>(url, 'localnet_healthy', [
    'getAccountInfo',
    account,
    config,
  ]);
  return value !== null;
}

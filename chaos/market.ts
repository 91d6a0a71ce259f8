import { setTimeout as sleep } from 'node:timers/promises';
import { newWallet } from '../devkit/localnet/wallet.ts';
import { mintsOf } from '../devkit/localstack/chain.ts';
import { rpc } from '../devkit/localstack/rpc.ts';
import type { Stack } from '../devkit/localstack/stack.ts';
import { deriveAta } from '../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM } from '../src/solana/tx/programs.ts';
import type { ChaosMarket } from './wanted.ts';

const OLD_WALLETS = 6;
const OLD_LAMPORTS = 10_000_000;
const PAUSABLE_UNITS = 1_000_000_000_000n;
const LOOK_EVERY_MS = 100;

/** Makes what can be paid beside the tokens of the chain: a mint that its issuer can pause, and wallets that hold something. */
export async function openMarket({ rpcUrls, chainInfo, hotWallet }: Stack): Promise<ChaosMarket> {
  const [url = ''] = rpcUrls;
  const { mint, feeMint } = mintsOf(chainInfo);
  if (mint === undefined || feeMint === undefined)
    throw new Error('chaos needs its own chain: unset SLUICE_RPC_URLS');
  const wallets = Array.from({ length: OLD_WALLETS }, () => newWallet().address);
  for (const wallet of wallets) await rpc(url, 'requestAirdrop', [wallet, OLD_LAMPORTS]);
  const pausableMint = await rpc<string>(url, 'localnet_createPausableMint', []);
  await untilThere(url, pausableMint);
  await rpc(url, 'localnet_mintTo', [pausableMint, hotWallet, PAUSABLE_UNITS.toString()]);
  await untilThere(url, deriveAta(hotWallet, pausableMint, TOKEN_2022_PROGRAM));
  return { mint, feeMint, pausableMint, wallets };
}

async function untilThere(url: string, address: string): Promise<void> {
  const ask = () =>
    rpc<{ readonly value: unknown }>(url, 'getAccountInfo', [
      address,
      { commitment: 'finalized', encoding: 'base64' },
    ]);
  while ((await ask()).value === null) await sleep(LOOK_EVERY_MS);
}

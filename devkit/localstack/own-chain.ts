import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatLamports } from '../../src/domain/amount.ts';
import { messageOf } from '../../src/domain/errors.ts';
import type { LocalChain } from './chain.ts';
import { keypairFile, secretKeyOf } from './keypair.ts';
import { Payer } from './payer.ts';
import { lamportsOf, rpc } from './rpc.ts';

/** A chain on which a stack sells. */
export type SalesChain = Pick<LocalChain, 'info' | 'mintTo'>;

const MAINNET_GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
/** What a faucet of a public test network gives at once. */
const AIRDROP_LAMPORTS = 1_000_000_000;
/** A wallet with less requests SOL. */
const ENOUGH_LAMPORTS = 50_000_000;
const AIRDROP_TIMEOUT_MS = 60_000;
const POLL_MS = 200;

/**
 * A mint on a test chain that this stack has not started; null, with a message, if the chain gives no SOL. The keys of
 * the mint are files in `dir`, so that a later stack uses the same mint.
 */
export async function ownChain(
  rpcUrls: readonly string[],
  dir: string,
  say: (line: string) => void,
): Promise<SalesChain | null> {
  const [url = ''] = rpcUrls;
  const key = (name: string) => keypairFile(join(dir, 'keys', `${name}.json`));
  const [authorityKey, mintKey] = [key('mint-authority'), key('mint')];
  const authority = new Payer(url, secretKeyOf(authorityKey.path));
  if (!(await hasSol(url, authority.address))) {
    say('nothing is sold, because the node gives no SOL for a mint: name your own routes with --routes');
    return null;
  }
  if (!(await exists(url, mintKey.address))) {
    await authority.send(authority.newMint(secretKeyOf(mintKey.path)));
    say(`made the mint ${mintKey.address}`);
  }
  return {
    info: { rpcUrls, mint: { address: mintKey.address } },
    mintTo: async (token, owner, units) => void (await authority.send(authority.mintTo(token, owner, units))),
  };
}

/** Gives a fee payer SOL. If the node has no faucet, names the wallet and what it needs. */
export async function fundFeePayer(url: string, address: string, say: (line: string) => void): Promise<void> {
  if (await hasSol(url, address)) return;
  const sol = formatLamports(BigInt(ENOUGH_LAMPORTS));
  say(
    `send at least ${sol} SOL to ${address}, which pays the fees of x402 payments: the node gives none, and until then the routes answer 503`,
  );
}

/** True if the wallet has SOL, or the node's faucet gives some. */
export async function hasSol(url: string, address: string): Promise<boolean> {
  const genesis = await genesisOf(url);
  if ((await lamportsOf(url, address, 'confirmed')) >= ENOUGH_LAMPORTS) return true;
  if (genesis === MAINNET_GENESIS) return false;
  try {
    await rpc(url, 'requestAirdrop', [address, AIRDROP_LAMPORTS]);
  } catch {
    return false;
  }
  const end = performance.now() + AIRDROP_TIMEOUT_MS;
  while ((await lamportsOf(url, address, 'confirmed')) < ENOUGH_LAMPORTS) {
    if (performance.now() > end) return false;
    await sleep(POLL_MS);
  }
  return true;
}

async function genesisOf(url: string): Promise<string> {
  try {
    return await rpc<string>(url, 'getGenesisHash', []);
  } catch (error) {
    const message = `the Solana node ${new URL(url).host} does not answer: ${messageOf(error)}`;
    throw new Error(message, { cause: error });
  }
}

async function exists(url: string, address: string): Promise<boolean> {
  const params = [address, { commitment: 'confirmed', encoding: 'base64' }];
  const { value } = await rpc<{ readonly value: unknown }>(url, 'getAccountInfo', params);
  return value !== null;
}

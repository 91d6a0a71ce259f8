import { setTimeout as sleep } from 'node:timers/promises';
import { Keypair, PublicKey } from '@solana/web3.js';
import type { LocalChain } from '../../devkit/localstack/chain.ts';
import type { Token } from '../../devkit/localstack/payer.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { getAssociatedTokenAddressSync } from '../../src/shims/spl-token.ts';

const BUYER_UNITS = 1_000_000_000n;
const POLL_MS = 200;

/** Buyers with tokens; they have no SOL, because the seller's fee payer pays the fees. */
export async function fundBuyers(
  chain: LocalChain,
  token: Token,
  count: number,
): Promise<readonly Keypair[]> {
  const buyers = Array.from({ length: count }, () => Keypair.generate());
  await Promise.all(buyers.map(({ publicKey }) => chain.mintTo(token, publicKey.toBase58(), BUYER_UNITS)));
  const url = chain.info.rpcUrls[0] ?? '';
  for (const { publicKey } of buyers)
    while ((await balance(url, token, publicKey.toBase58(), 'confirmed')) === 0n) await sleep(POLL_MS);
  return buyers;
}

/** Balance of a wallet's token account in base units; 0 if the account does not exist. */
export async function balance(
  url: string,
  { mint }: Pick<Token, 'mint'>,
  owner: string,
  commitment: 'confirmed' | 'finalized',
): Promise<bigint> {
  const account = getAssociatedTokenAddressSync(new PublicKey(mint), new PublicKey(owner), true);
  type Answer = { readonly value: { readonly amount: string } };
  const params = [account.toBase58(), { commitment }];
  const answer = await rpc<Answer>(url, 'getTokenAccountBalance', params).catch(() => null);
  return BigInt(answer?.value.amount ?? 0);
}

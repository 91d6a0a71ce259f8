import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { SOL, takesDeposits } from '../../domain/deposit-asset.ts';
import { knownAddress } from '../../ledger/deposits/address-pool.ts';
import { agreedMint } from '../../solana/tokens/agreed-mint.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';
import { type ChainDeps, noChain } from '../no-chain.ts';
import { route } from '../route.ts';
import { addressParam, assetParam, text, textOrNull } from '../schemas.ts';

const TokenAccountBody = z
  .object({
    address: text('Deposit address'),
    mint: text('`SOL` or the address of the mint'),
    program: textOrNull('Token program of the mint; null for SOL'),
    tokenAccount: textOrNull(
      'Associated token account that receives the token; null for SOL, which the address itself receives',
    ),
    depositsOn: z.boolean().describe('Whether deposits of the asset are credited'),
  })
  .meta({ id: 'TokenAccount' });

export function tokenAccountRoute(app: FastifyInstance, deps: ChainDeps): void {
  route(app, 'GET', '/v1/deposit-addresses/:address/assets/:mint', {
    operationId: 'getTokenAccount',
    tags: ['deposits'],
    summary: 'Get the token account of a deposit address',
    params: z.object({ address: addressParam, mint: assetParam }),
    response: TokenAccountBody,
    handler: ({ params }) => findTokenAccount(deps, params.address, params.mint),
  });
}

/** @throws DomainError NotFound, AssetRejected, NoHealthyNode */
async function findTokenAccount({ ledger, chain = noChain }: ChainDeps, wallet: string, mint: string) {
  const { address } = knownAddress(await ledger.addresses.byAddress(wallet));
  const asset = await ledger.assets.get(mint);
  const depositsOn = takesDeposits(mint, asset);
  if (mint === SOL) return { address, mint, program: null, tokenAccount: null, depositsOn };
  const program = asset?.program ?? (await agreedMint((await chain()).pool, mint)).program;
  return { address, mint, program, tokenAccount: deriveAta(address, mint, program), depositsOn };
}

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Asset } from '../client/assets.ts';
import { parseAmount } from '../domain/amount.ts';
import { DomainError } from '../domain/errors.ts';
import type { TokenPolicy } from '../domain/token-rules.ts';
import type { NewAsset } from '../ledger/assets.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { agreedMint } from '../solana/agreed-mint.ts';
import type { Chain } from '../solana/chain.ts';
import { issuerPowers, refusedExtension } from '../solana/token-policy.ts';
import { noChain } from './explanation.ts';
import { problems, u64, WarningBody } from './schemas.ts';

export interface AssetDeps {
  readonly ledger: Ledger;
  readonly chain?: () => Promise<Chain>;
  readonly tokenPolicy?: TokenPolicy;
}

const SOL = 'SOL';
const SOL_DECIMALS = 9;
const tags = ['deposits'];

const AssetBody = z
  .object({
    asset: z.string(),
    program: z.string().nullable(),
    decimals: z.int(),
    extensions: z.array(z.string()).readonly(),
    minimumDeposit: u64,
    depositsOn: z.boolean(),
    warnings: z.array(WarningBody).readonly(),
  })
  .meta({ id: 'Asset' }) satisfies z.ZodType<Asset>;

const ChangeBody = z
  .strictObject({ minimumDeposit: z.string().optional(), depositsOn: z.boolean().optional() })
  .meta({ id: 'AssetChange' });

const params = z.object({
  mint: z.string().max(64).meta({ description: '`SOL`, or the address of a mint' }),
});

/** Routes of `/v1/assets`: what may be deposited. */
export function assetRoutes(deps: AssetDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/assets',
      schema: {
        tags,
        summary: 'What may be deposited',
        response: { 200: z.object({ assets: z.array(AssetBody).readonly() }), ...problems },
      },
      handler: async () => ({ assets: (await listed(deps)).map(present) }),
    });
    app.route({
      method: 'GET',
      url: '/v1/assets/:mint',
      schema: { tags, summary: 'One asset', params, response: { 200: AssetBody, ...problems } },
      handler: async ({ params: { mint } }) => present(await get(deps, mint)),
    });
    app.route({
      method: 'PUT',
      url: '/v1/assets/:mint',
      schema: {
        tags,
        summary: 'List an asset, or change it',
        description:
          'Program, decimals and extensions are read from the chain. What is left out stays as it is.',
        params,
        body: ChangeBody,
        response: { 200: AssetBody, ...problems },
      },
      handler: async ({ params: { mint }, body }) => present(await put(deps, mint, body)),
    });
  };
}

async function listed(deps: AssetDeps): Promise<readonly NewAsset[]> {
  const rows = await deps.ledger.assets.list();
  return rows.some(({ asset }) => asset === SOL) ? rows : [await untouchedSol(deps), ...rows];
}

/** @throws DomainError NotFound */
async function get(deps: AssetDeps, asset: string): Promise<NewAsset> {
  const row = await deps.ledger.assets.get(asset);
  if (row !== undefined) return row;
  if (asset === SOL) return untouchedSol(deps);
  throw new DomainError('NotFound', `${asset} is not among the assets`);
}

/** SOL as it is until an operator changes it. */
async function untouchedSol({ chain = noChain }: AssetDeps): Promise<NewAsset> {
  const minimumDeposit = await (await chain()).rentMinimum(0);
  return {
    asset: SOL,
    program: null,
    decimals: SOL_DECIMALS,
    extensions: [],
    minimumDeposit,
    depositsOn: true,
  };
}

/** @throws DomainError AssetRejected, InvalidRequest, NoHealthyNode */
async function put(deps: AssetDeps, asset: string, change: z.output<typeof ChangeBody>): Promise<NewAsset> {
  const before = await deps.ledger.assets.get(asset);
  const fresh = asset === SOL ? await untouchedSol(deps) : await untouchedToken(deps, asset);
  const minimumDeposit =
    change.minimumDeposit === undefined
      ? (before ?? fresh).minimumDeposit
      : parseAmount(change.minimumDeposit, 'minimumDeposit');
  const depositsOn = change.depositsOn ?? (before ?? fresh).depositsOn;
  if (asset === SOL && minimumDeposit < fresh.minimumDeposit)
    throw rejected('minimumDeposit', `the chain demands ${fresh.minimumDeposit} lamports of an account`);
  const forbidden = refusedExtension(fresh, deps.tokenPolicy);
  if (forbidden !== null && depositsOn) throw rejected('depositsOn', forbidden.message);
  return deps.ledger.assets.put({ ...fresh, minimumDeposit, depositsOn });
}

/** A mint as it is listed where nothing else is said. */
async function untouchedToken({ chain = noChain }: AssetDeps, asset: string): Promise<NewAsset> {
  const { program, decimals, extensions } = await agreedMint((await chain()).pool, asset);
  return { asset, program, decimals, extensions, minimumDeposit: 1n, depositsOn: true };
}

function rejected(field: string, message: string): DomainError {
  return new DomainError('AssetRejected', message, { field });
}

function present({ minimumDeposit, ...row }: NewAsset): Asset {
  const { asset, program, decimals, extensions, depositsOn } = row;
  return {
    asset,
    program,
    decimals,
    extensions,
    minimumDeposit: minimumDeposit.toString(),
    depositsOn,
    warnings: issuerPowers(extensions),
  };
}

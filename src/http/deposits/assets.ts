import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { parseAmount } from '../../domain/amount.ts';
import {
  type AssetChange,
  changeTerms,
  SOL,
  untouchedSol,
  untouchedToken,
} from '../../domain/deposit-asset.ts';
import { DomainError } from '../../domain/errors.ts';
import { allowsHooks, type TokenPolicy } from '../../domain/token-rules.ts';
import type { NewAsset } from '../../ledger/deposits/assets.ts';
import { agreedMint } from '../../solana/tokens/agreed-mint.ts';
import { issuerPowers, refusedExtension } from '../../solana/tokens/token-policy.ts';
import { type ChainDeps, noChain } from '../no-chain.ts';
import { route } from '../route.ts';
import { amountPattern, assetParam, text, textOrNull, u64, WarningBody } from '../schemas.ts';

export interface AssetDeps extends ChainDeps {
  readonly tokenPolicy?: TokenPolicy;
}

const tags = ['deposits'];

const AssetBody = z
  .object({
    asset: text('`SOL` or the address of a mint'),
    program: textOrNull('Token program of the mint; null for SOL'),
    decimals: z.int().describe('Number of decimals of the asset'),
    extensions: z.array(z.string()).readonly().describe('Names of the Token-2022 extensions of the mint'),
    freezeAuthority: textOrNull(
      'Address that can freeze every token account of the mint, including deposit accounts; null if the mint has none',
    ),
    permanentDelegate: textOrNull(
      'Address that can transfer or burn the tokens of every holder, including deposit accounts; null if the mint has none',
    ),
    minimumDeposit: u64.describe(
      'Minimum deposit in base units. A smaller deposit is recorded as `not_credited` with the reason `below_minimum`',
    ),
    depositsOn: z.boolean().describe('Whether deposits are credited'),
    warnings: z
      .array(WarningBody)
      .readonly()
      .describe('Warnings about powers that the mint gives to its issuer'),
  })
  .meta({ id: 'Asset' });

const AssetsBody = z
  .object({ assets: z.array(AssetBody).readonly().describe('Assets, SOL first') })
  .meta({ id: 'Assets' });

const ChangeBody = z
  .strictObject({
    minimumDeposit: z
      .string()
      .meta({ pattern: amountPattern })
      .optional()
      .describe(
        'Minimum deposit in base units. Default for a new asset: 1 for a token; for SOL the rent-exempt minimum',
      ),
    depositsOn: z
      .boolean()
      .optional()
      .describe('Whether deposits are credited. Default for a new asset: true'),
    acceptTransferHook: z
      .literal(true)
      .optional()
      .describe(
        'Accept deposits of a token with a transfer hook, although SLUICE_TOKEN_POLICY refuses its withdrawals. Applies to this request only',
      ),
  })
  .meta({ id: 'AssetChange' });

const params = z.object({ mint: assetParam });

export function assetRoutes(app: FastifyInstance, deps: AssetDeps): void {
  route(app, 'GET', '/v1/assets', {
    operationId: 'listAssets',
    tags,
    summary: 'List assets',
    response: AssetsBody,
    handler: async () => ({ assets: (await listAssets(deps)).map(withWarnings) }),
  });
  route(app, 'GET', '/v1/assets/:mint', {
    operationId: 'getAsset',
    tags,
    summary: 'Get an asset',
    params,
    response: AssetBody,
    handler: async ({ params: { mint } }) => withWarnings(await getAsset(deps, mint)),
  });
  route(app, 'PUT', '/v1/assets/:mint', {
    operationId: 'putAsset',
    tags,
    summary: 'Create or update an asset',
    description:
      'Program, decimals, extensions, freeze authority and permanent delegate are read from the chain. A field that is absent keeps its value. 409 `AssetRejected`: the chain has no such mint, or deposits of the token would not be safe.',
    params,
    body: ChangeBody,
    response: AssetBody,
    handler: async ({ params: { mint }, body }) => withWarnings(await putAsset(deps, mint, body)),
  });
}

async function listAssets(deps: AssetDeps): Promise<readonly NewAsset[]> {
  const rows = await deps.ledger.assets.list();
  return rows.some(({ asset }) => asset === SOL) ? rows : [(await readAsset(deps, SOL)).chainAsset, ...rows];
}

/** @throws DomainError NotFound */
async function getAsset(deps: AssetDeps, asset: string): Promise<NewAsset> {
  const row = await deps.ledger.assets.get(asset);
  if (row !== undefined) return row;
  if (asset === SOL) return (await readAsset(deps, SOL)).chainAsset;
  throw new DomainError('NotFound', `asset ${asset} is not listed`);
}

/** @throws DomainError AssetRejected, InvalidRequest, NoHealthyNode */
async function putAsset(
  deps: AssetDeps,
  asset: string,
  { minimumDeposit, depositsOn, acceptTransferHook }: z.output<typeof ChangeBody>,
): Promise<NewAsset> {
  const change: AssetChange = {
    ...(minimumDeposit === undefined
      ? {}
      : { minimumDeposit: parseAmount(minimumDeposit, 'minimumDeposit') }),
    ...(depositsOn === undefined ? {} : { depositsOn }),
  };
  const { chainAsset, hookProgram } = await readAsset(deps, asset);
  const hookRefusal = acceptTransferHook === true ? null : refusalOfHook(hookProgram, deps.tokenPolicy);
  const limits = {
    leastDeposit: chainAsset.minimumDeposit,
    immovable: refusedExtension(chainAsset, deps.tokenPolicy)?.message ?? hookRefusal,
  };
  return deps.ledger.assets.put(chainAsset, (current) => changeTerms(current, change, limits));
}

/** Reads the asset from the chain, with default terms. `hookProgram`: its transfer hook; null if the mint has none. */
async function readAsset(
  { chain = noChain }: AssetDeps,
  asset: string,
): Promise<{ readonly chainAsset: NewAsset; readonly hookProgram: string | null }> {
  const solana = await chain();
  if (asset === SOL) {
    const sol = untouchedSol(await solana.rentMinimum(0));
    return { chainAsset: { ...sol, extensions: [] }, hookProgram: null };
  }
  const { hookProgram, ...mint } = await agreedMint(solana.pool, asset);
  const { program, decimals, extensions, freezeAuthority, permanentDelegate } = mint;
  const chainAsset = untouchedToken({
    asset,
    program,
    decimals,
    extensions,
    freezeAuthority,
    permanentDelegate,
  });
  return { chainAsset, hookProgram };
}

/** Why deposits of a token with this hook are refused; null if they could be withdrawn. */
function refusalOfHook(hookProgram: string | null, policy: TokenPolicy = {}): string | null {
  if (hookProgram === null || allowsHooks(policy)) return null;
  return (
    `the token calls program ${hookProgram} in every transfer, and SLUICE_TOKEN_POLICY refuses withdrawals of such a token: ` +
    'set transferHook=allow in SLUICE_TOKEN_POLICY, or list the token with acceptTransferHook or with deposits off'
  );
}

function withWarnings({ freezeAuthority = null, permanentDelegate = null, ...asset }: NewAsset) {
  const powers = { freezeAuthority, permanentDelegate };
  return { ...asset, ...powers, warnings: issuerPowers({ extensions: asset.extensions, ...powers }) };
}

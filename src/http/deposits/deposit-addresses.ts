import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import {
  checkManifest,
  MAX_MANIFEST_ENTRIES,
  type ManifestTrust,
} from '../../deposits/addresses/address-manifest.ts';
import { DEPOSIT_ADDRESS_STATES } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { ExplorerSettings } from '../../domain/explorer.ts';
import { AddressPool, knownAddress } from '../../ledger/deposits/address-pool.ts';
import type { DepositAddressRow } from '../../ledger/deposits/deposit-address-row.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import { confirmedTip, finalizedTip } from '../../solana/scan/frontier.ts';
import { type ChainDeps, noChain } from '../no-chain.ts';
import { route } from '../route.ts';
import { addressParam, position, text, textOrNull, time, u64, userRef, WarningBody } from '../schemas.ts';
import { balanceWarnings } from './address-balance.ts';

export interface AddressRules extends Pick<ManifestTrust, 'manifestKey'> {
  /** Fewer free addresses than this raise `addresses_low`. */
  readonly lowWater: number;
}

export interface DepositAddressDeps extends ChainDeps {
  readonly explorer: Pick<ExplorerSettings, 'cluster'>;
  /** Default: manifests with any key, except on mainnet, which then refuses all; alert below 100 free addresses. */
  readonly addresses?: AddressRules;
}

const tags = ['deposits'];
const LOW_WATER = 100;
const TIP_TTL_MS = 1_000;
/** Maximum size of a manifest entry in indented JSON, with a margin. */
const MAX_ENTRY_BYTES = 160;

const AddressBody = z
  .object({
    address: text('Address of the wallet in base58'),
    path: text('Derivation path of the private key, for the system that holds the keys'),
    state: z
      .enum(DEPOSIT_ADDRESS_STATES)
      .describe('State of the address; only a `free` address can be assigned'),
    userRef: textOrNull('Your id for the user of the address; null until the address is assigned'),
    since: u64
      .nullable()
      .describe(
        'First slot of the audit that the address needs before it becomes `free`; null if the address was imported without `since`',
      ),
    createdAt: time.describe('Time at which the address was imported'),
    assignedAt: time
      .nullable()
      .describe('Time at which the address was assigned to its user; null until then'),
    warnings: z
      .array(WarningBody)
      .readonly()
      .describe('Conditions that need attention, although the request has succeeded'),
  })
  .meta({ id: 'DepositAddress' });

const ManifestBody = z
  .strictObject({
    version: z.literal(1).describe('Version of the manifest format'),
    publicKey: z
      .string()
      .max(44)
      .describe('Public key of the signer of the manifest in base58. This key signs only manifests'),
    entries: z
      .array(
        z.strictObject({
          path: z.string().max(128).describe('Derivation path of the private key'),
          address: z.string().max(44).describe('Address of the wallet in base58'),
        }),
      )
      .max(MAX_MANIFEST_ENTRIES)
      .readonly()
      .describe('Wallets, each listed once'),
    signature: z
      .string()
      .max(88)
      .describe('Ed25519 signature over `version`, `publicKey` and `entries`, in base58'),
  })
  .meta({
    id: 'AddressManifest',
    description: 'A list of wallets, written and signed by `sluice addresses generate`',
  });

const ImportedBody = z
  .object({
    imported: z.int().describe('Number of new addresses'),
    known: z.int().describe('Number of addresses that were imported before'),
    free: z
      .int()
      .describe(
        'Number of free addresses. Counted only up to 10,000, or up to SLUICE_ADDRESS_LOW_WATER if that is higher',
      ),
    warnings: z
      .array(WarningBody)
      .readonly()
      .describe('Conditions that need attention, although the request has succeeded'),
  })
  .meta({ id: 'AddressImport' });

export function depositAddressRoutes(app: FastifyInstance, deps: DepositAddressDeps): void {
  const pool = new AddressPool(deps.ledger, deps.addresses?.lowWater ?? LOW_WATER);
  assignRoute(app, pool, finalTipOf(deps));
  importRoute(app, pool, deps);
  readRoutes(app, deps);
}

/** Returns the newest slot that a quorum of nodes has finalized. */
type FinalTip = () => Promise<bigint>;

/** Caches the slot for a second, because many users can register at the same time. Null if the API has no nodes. */
function finalTipOf({ chain }: ChainDeps): FinalTip | null {
  if (chain === undefined) return null;
  const cache = new TtlCache<bigint>(TIP_TTL_MS);
  return () => cache.get('', async () => finalizedTip((await chain()).pool));
}

function assignRoute(app: FastifyInstance, pool: AddressPool, tip: FinalTip | null): void {
  route(app, 'POST', '/v1/deposit-addresses', {
    operationId: 'assignDepositAddress',
    tags,
    summary: 'Assign a deposit address to a user',
    description:
      'The same `userRef` always gets the same address. The scan watches the address before the response is sent. 409 `NoFreeAddress`: the pool is empty; import more addresses.',
    body: z.strictObject({ userRef }),
    response: AddressBody,
    handler: async ({ body }) => ({ ...(await pool.assign(body.userRef, tip)), warnings: [] }),
  });
}

function importRoute(app: FastifyInstance, pool: AddressPool, deps: DepositAddressDeps): void {
  const { chain = noChain, addresses, explorer } = deps;
  const trust = { manifestKey: addresses?.manifestKey, cluster: explorer.cluster };
  route(app, 'POST', '/v1/deposit-addresses/import', {
    bodyLimit: MAX_MANIFEST_ENTRIES * MAX_ENTRY_BYTES,
    operationId: 'importDepositAddresses',
    tags,
    summary: 'Import the addresses of a signed manifest',
    description:
      'From this request on, the scan watches the addresses. Pass `since` if an address may have received a payment earlier: the addresses are then audited before they can be assigned.',
    body: z.strictObject({
      manifest: ManifestBody,
      since: position
        .optional()
        .describe('First slot in which the addresses may have received a payment; not in the future'),
    }),
    response: ImportedBody,
    handler: async ({ body: { manifest, since = null } }) => {
      await checkManifest(manifest, trust);
      // The confirmed tip, because payments in blocks that are not finalized yet also precede the import.
      const tip = since === null ? null : assertPast(since, await confirmedTip((await chain()).pool));
      const { low, ...counts } = await pool.import(manifest.entries, since, { tip });
      return { ...counts, warnings: low === null ? [] : [{ code: low.kind, message: low.message }] };
    },
  });
}

/**
 * Refuses a start slot in the future: an audit from it would find nothing. Returns `newest`, the chain's newest slot.
 *
 * @throws DomainError SlotsNotRecorded if `since` is in the future
 */
function assertPast(since: bigint, newest: bigint): bigint {
  if (since <= newest) return newest;
  throw new DomainError('SlotsNotRecorded', `since is in the future: the newest slot is ${newest}`, {
    field: 'since',
  });
}

function readRoutes(app: FastifyInstance, deps: DepositAddressDeps): void {
  const { ledger } = deps;
  route(app, 'GET', '/v1/deposit-addresses', {
    operationId: 'findDepositAddress',
    tags,
    summary: 'Find the deposit address of a user',
    querystring: z.strictObject({ userRef }),
    response: AddressBody,
    handler: async ({ query }) => show(deps, await ledger.addresses.byUser(query.userRef)),
  });
  route(app, 'GET', '/v1/deposit-addresses/:address', {
    operationId: 'getDepositAddress',
    tags,
    summary: 'Get a deposit address and its warnings',
    params: z.object({ address: addressParam }),
    response: AddressBody,
    handler: async ({ params }) => show(deps, await ledger.addresses.byAddress(params.address)),
  });
}

async function show(deps: DepositAddressDeps, row: DepositAddressRow | undefined) {
  const address = knownAddress(row);
  return { ...address, warnings: await balanceWarnings(deps, address.address) };
}

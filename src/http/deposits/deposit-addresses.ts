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
  /** Default: manifests of any key, but none on mainnet; low below 100. */
  readonly addresses?: AddressRules;
}

const tags = ['deposits'];
const LOW_WATER = 100;
const TIP_SHARED_MS = 1_000;
/** Maximum size of a manifest entry in indented JSON, with a margin. */
const ENTRY_BYTES = 160;

const AddressBody = z
  .object({
    address: text('Address of the wallet in base58'),
    path: text('Derivation path of its key, for the system that holds the keys'),
    state: z
      .enum(DEPOSIT_ADDRESS_STATES)
      .describe('State of the address; only a `free` address can be assigned'),
    userRef: textOrNull('Your id of its user; null until it is assigned'),
    since: u64
      .nullable()
      .describe(
        'Slot from which the address was audited before it became free; null if it was new when imported',
      ),
    createdAt: time.describe('Time of the import'),
    assignedAt: time.nullable().describe('Time of the assignment; null until then'),
    warnings: z.array(WarningBody).readonly().describe('Conditions that need attention but block nothing'),
  })
  .meta({ id: 'DepositAddress' });

const ManifestBody = z
  .strictObject({
    version: z.literal(1).describe('Version of the format'),
    publicKey: z
      .string()
      .max(44)
      .describe('Public key of the signer in base58. This key signs only manifests'),
    entries: z
      .array(
        z.strictObject({
          path: z.string().max(128).describe('Derivation path of its key'),
          address: z.string().max(44).describe('Address of the wallet in base58'),
        }),
      )
      .max(MAX_MANIFEST_ENTRIES)
      .readonly()
      .describe('Wallets, each listed once'),
    signature: z.string().max(88).describe('Ed25519 signature over version, key and entries, in base58'),
  })
  .meta({
    id: 'AddressManifest',
    description: 'A list of wallets, written and signed by `sluice addresses generate`',
  });

const ImportedBody = z
  .object({
    imported: z.int().describe('Number of new addresses'),
    known: z.int().describe('Number of addresses that were imported before'),
    free: z.int().describe('Number of free addresses; counted up to 10,000'),
    warnings: z.array(WarningBody).readonly().describe('Conditions that need attention but block nothing'),
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

/** The slot is cached for a second because many users may register at once. Null if the API has no nodes. */
function finalTipOf({ chain }: ChainDeps): FinalTip | null {
  if (chain === undefined) return null;
  const cache = new TtlCache<bigint>(TIP_SHARED_MS);
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
    bodyLimit: MAX_MANIFEST_ENTRIES * ENTRY_BYTES,
    operationId: 'importDepositAddresses',
    tags,
    summary: 'Import the addresses of a signed manifest',
    description:
      'The scan watches the addresses from now on. Pass `since` if they may have received payments before.',
    body: z.strictObject({
      manifest: ManifestBody,
      since: position
        .optional()
        .describe('First slot in which the addresses may have received a payment; not in the future'),
    }),
    response: ImportedBody,
    handler: async ({ body: { manifest, since = null } }) => {
      await checkManifest(manifest, trust);
      // Confirmed, not finalized: payments in blocks that are not finalized yet also precede the import.
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
  throw new DomainError('SlotsNotRecorded', `since: the newest slot is ${newest}`, { field: 'since' });
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

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { AddressImport, AddressRelease, DepositAddress, Warning } from '../client/deposit-addresses.ts';
import { DEPOSIT_ADDRESS_STATES } from '../domain/deposit.ts';
import type { ExplorerSettings } from '../domain/explorer.ts';
import { AddressPool, knownAddress } from '../ledger/address-pool.ts';
import type { DepositAddressRow } from '../ledger/deposit-address-row.ts';
import { checkManifest, MANIFEST_ENTRIES, type ManifestTrust } from '../solana/address-manifest.ts';
import { confirmedTip, finalizedTip } from '../solana/scan/frontier.ts';
import { TtlCache } from '../solana/ttl-cache.ts';
import { type BalanceDeps, balanceWarnings } from './address-balance.ts';
import { noChain } from './no-chain.ts';
import { assertPast } from './scanned.ts';
import { addressParam, position, problems, time, u64, userRef, WarningBody, why } from './schemas.ts';

/** Whose manifests are taken, and when the pool is low. */
export interface AddressRules extends Pick<ManifestTrust, 'manifestKey'> {
  /** Fewer free addresses than this raise `addresses_low`. */
  readonly lowWater: number;
}

export interface DepositAddressDeps extends BalanceDeps {
  readonly explorer: Pick<ExplorerSettings, 'cluster'>;
  /** Default: manifests of any key, but none on mainnet; low below 100. */
  readonly addresses?: AddressRules;
}

const tags = ['deposits'];
const LOW_WATER = 100;
const TIP_SHARED_MS = 1_000;
/** What an entry of a manifest takes in JSON that is written for people, with some to spare. */
const ENTRY_BYTES = 160;

const AddressBody = z
  .object({
    address: z.string().describe('The wallet, base58'),
    path: z.string().describe('Derivation path of its key, for the place where the keys are'),
    state: z.enum(DEPOSIT_ADDRESS_STATES).describe('Only `free` ones are given out'),
    userRef: z.string().nullable().describe('Your id of the user whose it is; null until it is assigned'),
    since: u64
      .nullable()
      .describe(
        'The slot from which it was audited before it could be given out; null where it was new when it was imported',
      ),
    createdAt: time.describe('When it was imported'),
    assignedAt: time.nullable().describe('When it was given to its user; null before'),
    warnings: z.array(WarningBody).readonly().describe('What to know of it, which changes nothing'),
  })
  .meta({ id: 'DepositAddress' }) satisfies z.ZodType<DepositAddress>;

const ManifestBody = z
  .strictObject({
    version: z.literal(1).describe('Of the format'),
    publicKey: z.string().max(44).describe('Of the key that signed; it signs manifests and nothing else'),
    entries: z
      .array(
        z.strictObject({
          path: z.string().max(128).describe('Derivation path of its key'),
          address: z.string().max(44).describe('The wallet, base58'),
        }),
      )
      .max(MANIFEST_ENTRIES)
      .readonly()
      .describe('The wallets, each once'),
    signature: z.string().max(88).describe('Ed25519 over version, key and entries, base58'),
  })
  .meta({ id: 'AddressManifest', description: 'What `sluice addresses generate` wrote' });

const ImportedBody = z
  .object({
    imported: z.int().describe('Addresses that are new'),
    known: z.int().describe('Those that were there already'),
    free: z.int().describe('How many can be given out now; no more than 10,000 are counted'),
    warnings: z.array(WarningBody).readonly().describe('What to know of it, which changes nothing'),
  })
  .meta({ id: 'AddressImport' }) satisfies z.ZodType<AddressImport>;

const ReleasedBody = z
  .object({
    released: z.int().describe('How many were kept back until now'),
    free: z.int().describe('How many can be given out now; no more than 10,000 are counted'),
  })
  .meta({ id: 'AddressRelease' }) satisfies z.ZodType<AddressRelease>;

/** Routes of `/v1/deposit-addresses`. */
export function depositAddressRoutes(deps: DepositAddressDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const { ledger, addresses = { lowWater: LOW_WATER }, explorer } = deps;
    const { lowWater, manifestKey } = addresses;
    const pool = new AddressPool(ledger, lowWater);
    assignRoute(app, pool, finalTipOf(deps));
    importRoute(app, {
      pool,
      confirmed: confirmedTipOf(deps),
      trust: { manifestKey, cluster: explorer.cluster },
    });
    releaseRoute(app, pool);
    readRoutes(app, deps);
  };
}

type App = Parameters<FastifyPluginAsyncZod>[0];

/** The newest slot that a quorum has come to. */
type Tip = () => Promise<bigint>;

/** What is final, the same for all who ask within a second: many users may come at once. Null where this API knows no nodes. */
function finalTipOf({ chain }: BalanceDeps): Tip | null {
  if (chain === undefined) return null;
  const cache = new TtlCache<bigint>(TIP_SHARED_MS);
  return () => cache.get('', async () => finalizedTip((await chain()).pool));
}

/** What is confirmed; Unavailable where this API knows no nodes: no record tells how far the chain went on without the scan. */
function confirmedTipOf({ chain = noChain }: BalanceDeps): Tip {
  return async () => confirmedTip((await chain()).pool);
}

function assignRoute(app: App, pool: AddressPool, tip: Tip | null): void {
  app.route({
    method: 'POST',
    url: '/v1/deposit-addresses',
    schema: {
      tags,
      summary: 'The deposit address of a user',
      description: 'The same userRef has the same address for ever. It is watched before it is answered.',
      body: z.strictObject({ userRef }),
      response: { 200: AddressBody, ...problems },
    },
    handler: async ({ body }) => present(await pool.assign(body.userRef, tip), []),
  });
}

interface ImportDeps {
  readonly pool: AddressPool;
  /** What is confirmed at an import may have been paid before it, though it is not final yet. */
  readonly confirmed: Tip;
  readonly trust: ManifestTrust;
}

function importRoute(app: App, { pool, confirmed, trust }: ImportDeps): void {
  app.route({
    method: 'POST',
    url: '/v1/deposit-addresses/import',
    bodyLimit: MANIFEST_ENTRIES * ENTRY_BYTES,
    schema: {
      tags,
      summary: 'Take the addresses of a signed manifest into the pool',
      description: 'They are watched from now on. Those that may have been paid before come with `since`.',
      body: z.strictObject({
        manifest: ManifestBody,
        since: position
          .optional()
          .describe('The first slot in which they may have been paid; none of the future'),
        keptBack: z
          .boolean()
          .optional()
          .describe('Give none of the new ones to anybody: users may have them, in a newer record than this'),
      }),
      response: { 200: ImportedBody, ...problems },
    },
    handler: async ({ body: { manifest, since = null, keptBack = false } }) => {
      await checkManifest(manifest, trust);
      const tip = since === null ? null : assertPast(since, await confirmed());
      const { low, ...counts } = await pool.import(manifest.entries, since, { tip, keptBack });
      return { ...counts, warnings: low === null ? [] : [{ code: low.kind, message: low.message }] };
    },
  });
}

function releaseRoute(app: App, pool: AddressPool): void {
  app.route({
    method: 'POST',
    url: '/v1/deposit-addresses/release',
    schema: {
      tags,
      summary: 'Give out again what was kept back since the record was restored',
      description:
        'For those alone who know that no user was given an address after the backup was made: else two users get the same one.',
      body: z.strictObject({ why }),
      response: { 200: ReleasedBody, ...problems },
    },
    handler: ({ caller: who, body }) => pool.release(who, body.why),
  });
}

function readRoutes(app: App, deps: DepositAddressDeps): void {
  const { ledger } = deps;
  app.route({
    method: 'GET',
    url: '/v1/deposit-addresses',
    schema: {
      tags,
      summary: 'The deposit address that a user has',
      querystring: z.strictObject({ userRef }),
      response: { 200: AddressBody, ...problems },
    },
    handler: async ({ query }) => show(deps, await ledger.addresses.byUser(query.userRef)),
  });
  app.route({
    method: 'GET',
    url: '/v1/deposit-addresses/:address',
    schema: {
      tags,
      summary: 'A deposit address, and what is wrong with it',
      params: z.object({ address: addressParam }),
      response: { 200: AddressBody, ...problems },
    },
    handler: async ({ params }) => show(deps, await ledger.addresses.byAddress(params.address)),
  });
}

async function show(deps: DepositAddressDeps, row: DepositAddressRow | undefined): Promise<DepositAddress> {
  const known = present(knownAddress(row), []);
  return { ...known, warnings: await balanceWarnings(deps, known.address) };
}

function present(row: DepositAddressRow, warnings: readonly Warning[]): DepositAddress {
  return {
    address: row.address,
    path: row.path,
    state: row.state,
    userRef: row.userRef,
    since: row.since?.toString() ?? null,
    createdAt: row.createdAt.toISOString(),
    assignedAt: row.assignedAt?.toISOString() ?? null,
    warnings,
  };
}

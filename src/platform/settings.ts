import { z } from 'zod';
import { ADDRESS_TEXT } from '../domain/address.ts';
import { TOKEN_RULE_VALUES, TOKEN_RULES, type TokenPolicy } from '../domain/token-rules.ts';

/** The role of a process determines its required settings. `all` is a worker for every task queue (development). */
export type Role = 'api' | 'chain' | 'signer' | 'x402' | 'all' | 'tool';

const U64_MAX = 2n ** 64n - 1n;

const flag = z.enum(['true', 'false'], 'must be true or false').transform((text) => text === 'true');
const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number')
  .transform(Number)
  .refine((value) => value <= 65_535, 'must be a port number');
const microLamports = z
  .string()
  .regex(/^\d{1,20}$/, 'must be a whole number of micro-lamports')
  .transform(BigInt)
  .refine((value) => value <= U64_MAX, 'must fit into 64 bits');
const rate = z
  .string()
  .regex(/^[1-9]\d{0,5}$/, 'must be a whole number of requests, 1 to 999999')
  .transform(Number);
const slot = z
  .string()
  .regex(/^\d{1,18}$/, 'must be the number of a slot')
  .transform(BigInt);
const hostPort = z.string().regex(/^[^\s:/]+:\d{1,5}$/, 'must be host:port');
const url = (protocol: RegExp, kind: string) => z.url({ protocol, error: `must be ${kind} URL` });
const httpUrl = url(/^https?$/, 'an http or https');

const buildId = z
  .string()
  .regex(/^[\w.+-]{1,100}$/, 'must be 1 to 100 letters, digits or _ . + -, such as the commit of the build');
/** Temporal joins the name and the build ID with a dot or a colon. */
const deploymentName = z
  .string()
  .regex(
    /^[A-Za-z0-9][\w/-]{0,99}$/,
    'must be 1 to 100 letters, digits or _ / -, and begin with a letter or digit',
  );

const rpcUrls = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(httpUrl).min(1))
  .readonly();

const list = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(z.string().min(1, 'must be a list, separated by commas')))
  .readonly();

const addresses = list.pipe(
  z.array(z.string().regex(ADDRESS_TEXT, 'must be base58 addresses, separated by commas')).readonly(),
);

const lamports = z
  .string()
  .regex(/^\d{1,19}$/, 'must be a whole number of lamports')
  .transform(BigInt);

const worthOfAssets = z.string().transform((text, context): ReadonlyMap<string, bigint> => {
  const worths = new Map<string, bigint>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    const [, asset = '', lamports = ''] = /^(\w+)=([1-9]\d{0,18})$/.exec(entry) ?? [];
    if (!ADDRESS_TEXT.test(asset))
      context.addIssue(`must be <mint>=<lamports per whole token>, separated by commas; not ${entry}`);
    else if (worths.has(asset)) context.addIssue(`names a mint twice: ${entry}`);
    worths.set(asset, BigInt(lamports));
  }
  return worths;
});

const tokenRule = z.enum(TOKEN_RULE_VALUES);

const tokenPolicy = z.string().transform((text, context): TokenPolicy => {
  const rules = text.split(',').map((part) => part.split('=').map((word) => word.trim()));
  const known = rules.every(([name = '']) => Object.hasOwn(TOKEN_RULES, name));
  const read = z.array(z.tuple([z.string(), tokenRule])).safeParse(rules);
  if (read.success && known) return Object.fromEntries(read.data);
  const names = Object.keys(TOKEN_RULES).join(', ');
  context.addIssue(`must be a list of name=allow|reject|inspect, separated by commas; names are ${names}`);
  return z.NEVER;
});

const payloadKeys = z
  .string()
  .transform((text) => text.split(',').map((key) => Buffer.from(key.trim(), 'base64')))
  .refine((keys) => keys.every((key) => key.length === 32), 'must be base64 of 32 bytes');

const signerKey = z
  .string()
  .refine(
    (text) => /^\s*\[(\s*\d{1,3}\s*,){63}\s*\d{1,3}\s*\]\s*$/.test(text),
    'must be a JSON array of 64 bytes',
  );

/** Every setting: its name in the environment, and its schema with the default. */
export const SETTINGS = {
  temporalAddress: { name: 'TEMPORAL_ADDRESS', schema: hostPort.default('127.0.0.1:7233') },
  temporalNamespace: { name: 'TEMPORAL_NAMESPACE', schema: z.string().default('default') },
  databaseUrl: { name: 'DATABASE_URL', schema: url(/^postgres(ql)?$/, 'a postgres').optional() },
  rpcUrls: { name: 'SLUICE_RPC_URLS', schema: rpcUrls.optional() },
  rpcRequestsPerSecond: { name: 'SLUICE_RPC_REQUESTS_PER_SECOND', schema: rate.optional() },
  maxTransactionVersion: {
    name: 'SLUICE_MAX_TRANSACTION_VERSION',
    schema: z
      .string()
      .regex(/^\d{1,3}$/, 'must be the number of a transaction version')
      .transform(Number)
      .default(1),
  },
  cluster: {
    name: 'SLUICE_CLUSTER',
    schema: z
      .enum(['localnet', 'devnet', 'mainnet-beta'], 'must be localnet, devnet or mainnet-beta')
      .default('localnet'),
  },
  hotWallet: {
    name: 'SLUICE_HOT_WALLET',
    schema: z.string().regex(ADDRESS_TEXT, 'must be a base58 address').optional(),
  },
  signerKeyFile: { name: 'SLUICE_SIGNER_KEY_FILE', schema: z.string().optional() },
  signerKey: { name: 'SLUICE_SIGNER_KEY', schema: signerKey.optional() },
  workerRole: {
    name: 'SLUICE_WORKER_ROLE',
    schema: z.enum(['chain', 'signer', 'x402', 'all'], 'must be chain, signer, x402 or all').default('all'),
  },
  /** Build ID of this worker for Temporal worker versioning; unversioned if it is not set. */
  workerBuildId: { name: 'SLUICE_WORKER_BUILD_ID', schema: buildId.optional() },
  workerDeploymentName: { name: 'SLUICE_WORKER_DEPLOYMENT_NAME', schema: deploymentName.default('sluice') },
  /** Paths of solana-keygen files of the x402 worker, or of the signer if the keys are kept there. */
  feePayerKeyFiles: { name: 'SLUICE_FEE_PAYER_KEY_FILES', schema: list.default([]) },
  /** `feePayers`: keys that new quotes name. `retiredFeePayers`: keys that only older quotes name. */
  feePayers: { name: 'SLUICE_FEE_PAYERS', schema: addresses.default([]) },
  retiredFeePayers: { name: 'SLUICE_RETIRED_FEE_PAYERS', schema: addresses.default([]) },
  x402Routes: { name: 'SLUICE_X402_ROUTES', schema: z.string().optional() },
  x402Host: { name: 'SLUICE_X402_HOST', schema: z.string().default('127.0.0.1') },
  x402Port: { name: 'SLUICE_X402_PORT', schema: port.default(4021) },
  /** Public URL of the gateway, if it differs from its listening address. */
  x402PublicUrl: { name: 'SLUICE_X402_PUBLIC_URL', schema: httpUrl.optional() },
  x402QuoteSecret: {
    name: 'SLUICE_X402_QUOTE_SECRET',
    schema: z
      .string()
      .transform((text) => text.split(',').map((part) => part.trim()))
      .pipe(z.array(z.string().min(32, 'must have at least 32 characters')))
      .optional(),
  },
  x402FacilitatorOpen: { name: 'SLUICE_X402_FACILITATOR_OPEN', schema: flag.default(false) },
  x402TrustedProxies: { name: 'SLUICE_X402_TRUSTED_PROXIES', schema: list.default([]) },
  x402MaxFeeLamports: { name: 'SLUICE_X402_MAX_FEE_LAMPORTS', schema: lamports.default(15_000n) },
  /** Value of a whole token in lamports, and the maximum priority fee in percent of a payment's value. */
  x402AssetLamports: {
    name: 'SLUICE_X402_ASSET_LAMPORTS',
    schema: worthOfAssets.default(new Map()),
  },
  x402MaxFeePercent: {
    name: 'SLUICE_X402_MAX_FEE_PERCENT',
    schema: z
      .string()
      .regex(/^\d{1,5}$/, 'must be a whole number of percent, 0 to 99999')
      .transform(BigInt)
      .default(100n),
  },
  x402MaxComputeUnits: {
    name: 'SLUICE_X402_MAX_COMPUTE_UNITS',
    schema: z
      .string()
      .regex(/^[1-9]\d{3,6}$/, 'must be a whole number of compute units, 1000 to 1400000')
      .transform(Number)
      .default(60_000),
  },
  /** Balance below which a fee payer raises the alert `fee_payer_low`. */
  x402FeePayerLow: {
    name: 'SLUICE_X402_FEE_PAYER_LOW_LAMPORTS',
    schema: lamports.default(50_000_000n),
  },
  /** Path of the facilitator, such as `/facilitator`, or `/` for the root. */
  x402FacilitatorPath: {
    name: 'SLUICE_X402_FACILITATOR_PATH',
    schema: z
      .string()
      .regex(/^\/[A-Za-z0-9._~-]*(\/[A-Za-z0-9._~-]+)*$/, 'must be a path such as /facilitator, or /')
      .default('/facilitator'),
  },
  x402FacilitatorRate: { name: 'SLUICE_X402_FACILITATOR_REQUESTS_PER_SECOND', schema: rate.optional() },
  /** Fee limits per hour, in lamports: of each fee payer key, and for each buyer. */
  x402FeePayerBudget: {
    name: 'SLUICE_X402_FEE_PAYER_LAMPORTS_PER_HOUR',
    schema: lamports.default(1_000_000_000n),
  },
  x402BuyerBudget: { name: 'SLUICE_X402_BUYER_LAMPORTS_PER_HOUR', schema: lamports.default(100_000_000n) },
  httpHost: { name: 'SLUICE_HTTP_HOST', schema: z.string().default('127.0.0.1') },
  httpPort: { name: 'SLUICE_HTTP_PORT', schema: port.default(3402) },
  apiUrl: { name: 'SLUICE_API_URL', schema: httpUrl.optional() },
  apiKey: {
    name: 'SLUICE_API_KEY',
    schema: z.string().min(16, 'must have at least 16 characters').optional(),
  },
  addressManifestKey: {
    name: 'SLUICE_ADDRESS_MANIFEST_KEY',
    schema: z.string().regex(ADDRESS_TEXT, 'must be a base58 public key').optional(),
  },
  addressLowWater: {
    name: 'SLUICE_ADDRESS_LOW_WATER',
    schema: z
      .string()
      .regex(/^\d{1,6}$/, 'must be a whole number of addresses, 0 to 999999')
      .transform(Number)
      .default(100),
  },
  explorerUrl: { name: 'SLUICE_EXPLORER_URL', schema: httpUrl.default('https://explorer.solana.com') },
  logLevel: {
    name: 'SLUICE_LOG_LEVEL',
    schema: z
      .enum(
        ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
        'must be trace, debug, info, warn, error or silent',
      )
      .default('info'),
  },
  metricsAddress: { name: 'SLUICE_METRICS_ADDRESS', schema: hostPort.optional() },
  priorityFloorMicroLamports: {
    name: 'SLUICE_PRIORITY_FLOOR_MICRO_LAMPORTS',
    schema: microLamports.default(1_000n),
  },
  priorityCapMicroLamports: {
    name: 'SLUICE_PRIORITY_CAP_MICRO_LAMPORTS',
    schema: microLamports.default(5_000_000n),
  },
  /** Limit of a transaction's total fee. The chain worker composes within its own; the signer enforces its own. */
  maxFeeLamports: { name: 'SLUICE_MAX_FEE_LAMPORTS', schema: lamports.default(500_000n) },
  /** Solana plans to retire durable nonces: docs/decisions/0011-transaction-lifetimes.md. */
  lifetime: {
    name: 'SLUICE_LIFETIME',
    schema: z.enum(['blockhash', 'nonce'], 'must be blockhash or nonce').default('blockhash'),
  },
  landingsAtOnce: {
    name: 'SLUICE_LANDINGS_AT_ONCE',
    schema: z
      .string()
      .regex(/^[1-9]\d{0,5}$/, 'must be a whole number of payments, 1 to 999999')
      .transform(Number)
      .default(10_000),
  },
  confirmUsedWallet: { name: 'SLUICE_CONFIRM_USED_WALLET', schema: flag.default(false) },
  allowVaults: { name: 'SLUICE_ALLOW_VAULTS', schema: flag.default(false) },
  tokenPolicy: { name: 'SLUICE_TOKEN_POLICY', schema: tokenPolicy.default({}) },
  scan: { name: 'SLUICE_SCAN', schema: flag.default(true) },
  scanStartSlot: { name: 'SLUICE_SCAN_START_SLOT', schema: slot.optional() },
  announceConfirmed: { name: 'SLUICE_ANNOUNCE_CONFIRMED', schema: flag.default(false) },
  creditOwnerChange: { name: 'SLUICE_CREDIT_OWNER_CHANGE', schema: flag.default(false) },
  payloadKeys: { name: 'SLUICE_PAYLOAD_KEY', schema: payloadKeys.default([]) },
  webhookAllowPrivate: { name: 'SLUICE_WEBHOOK_ALLOW_PRIVATE', schema: flag.default(false) },
  webhookAttempts: {
    name: 'SLUICE_WEBHOOK_ATTEMPTS',
    schema: z
      .string()
      .regex(/^[1-9]\d{0,3}$/, 'must be a whole number of tries, 1 to 9999')
      .transform(Number)
      .default(80),
  },
  cacheDir: { name: 'SLUICE_CACHE_DIR', schema: z.string().optional() },
  temporalCliPath: { name: 'TEMPORAL_CLI_PATH', schema: z.string().optional() },
} as const satisfies Record<string, { name: string; schema: z.ZodType }>;

export const REQUIRED = {
  api: ['databaseUrl'],
  chain: ['databaseUrl', 'rpcUrls', 'hotWallet'],
  signer: [],
  x402: ['databaseUrl', 'rpcUrls'],
  all: ['databaseUrl', 'rpcUrls', 'hotWallet'],
  tool: [],
} as const satisfies Record<Role, readonly (keyof typeof SETTINGS)[]>;

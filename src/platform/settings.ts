import { z } from 'zod';
import { ADDRESS_TEXT } from '../domain/address.ts';
import { TOKEN_RULE_VALUES, TOKEN_RULES, type TokenPolicy } from '../domain/token-rules.ts';

/** Role of a process, which determines its required settings. `all`: a worker for every task queue, for development. */
export type Role = 'api' | 'chain' | 'signer' | 'x402' | 'all' | 'tool';

const U64_MAX = 2n ** 64n - 1n;

const digits = (max: number, message: string) => z.string().regex(new RegExp(`^\\d{1,${max}}$`), message);
const inRange = (min: number, max: number, message: string) =>
  digits(String(max).length, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
const wholeNumber = (unit: string, min: number, max: number) =>
  inRange(min, max, `must be a whole number of ${unit} from ${min} to ${max}`);
const oneOf = <const Values extends readonly [string, ...string[]]>(...values: Values) =>
  z.enum(values, `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`);

const flag = oneOf('true', 'false').transform((text) => text === 'true');
const port = inRange(0, 65_535, 'must be a port number from 0 to 65535');
const requestRate = wholeNumber('requests', 1, 999_999);
const lamports = digits(19, 'must be a whole number of lamports').transform(BigInt);
const slot = digits(18, 'must be a slot number').transform(BigInt);
const microLamports = digits(20, 'must be a whole number of micro-lamports')
  .transform(BigInt)
  .refine((value) => value <= U64_MAX, 'must fit into 64 bits');
const hostPort = z.string().regex(/^[^\s:/]+:\d{1,5}$/, 'must be host:port');
const url = (protocol: RegExp, kind: string) => z.url({ protocol, error: `must be ${kind} URL` });
const httpUrl = url(/^https?$/, 'an http or https');
const address = z.string().regex(ADDRESS_TEXT, 'must be a base58 address');

const buildId = z
  .string()
  .regex(/^[\w.+-]{1,100}$/, 'must be 1 to 100 letters, digits or _ . + -, such as the commit of the build');
/** Excludes dots and colons, with which Temporal joins the name and the build ID. */
const deploymentName = z
  .string()
  .regex(
    /^[A-Za-z0-9][\w/-]{0,99}$/,
    'must be 1 to 100 letters, digits or _ / -, and begin with a letter or digit',
  );
const urlPath = z
  .string()
  .regex(/^\/[A-Za-z0-9._~-]*(\/[A-Za-z0-9._~-]+)*$/, 'must be a path such as /facilitator, or /');

/** Operating systems limit the path of a socket to about 104 bytes, and the worker first binds a longer one. */
const socketPath = z
  .string()
  .refine(
    (path) => path.startsWith('/') && Buffer.byteLength(path) <= 91,
    'must be an absolute path of at most 91 bytes',
  );

const commaSeparated = z.string().transform((text) => text.split(',').map((part) => part.trim()));
const nonEmptyStrings = commaSeparated
  .pipe(z.array(z.string().min(1, 'must be a list, separated by commas')))
  .readonly();
const rpcUrls = commaSeparated.pipe(z.array(httpUrl).min(1)).readonly();
const addresses = nonEmptyStrings.pipe(
  z.array(z.string().regex(ADDRESS_TEXT, 'must be base58 addresses, separated by commas')).readonly(),
);
const quoteSecrets = commaSeparated.pipe(
  z.array(z.string().min(32, 'must be secrets of at least 32 characters, separated by commas')),
);

const assetValues = z.string().transform((text, context): ReadonlyMap<string, bigint> => {
  const lamportsByMint = new Map<string, bigint>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    const [, asset = '', digitsOfLamports = ''] = /^(\w+)=([1-9]\d{0,18})$/.exec(entry) ?? [];
    if (!ADDRESS_TEXT.test(asset))
      context.addIssue(`must be <mint>=<lamports per whole token>, separated by commas; not ${entry}`);
    else if (lamportsByMint.has(asset))
      context.addIssue(`must name each mint only once; ${asset} is repeated`);
    lamportsByMint.set(asset, BigInt(digitsOfLamports));
  }
  return lamportsByMint;
});

const tokenRule = z.enum(TOKEN_RULE_VALUES);

const tokenPolicy = z.string().transform((text, context): TokenPolicy => {
  const rules = text.split(',').map((part) => part.split('=').map((side) => side.trim()));
  const known = rules.every(([name = '']) => Object.hasOwn(TOKEN_RULES, name));
  const parsed = z.array(z.tuple([z.string(), tokenRule])).safeParse(rules);
  if (parsed.success && known) return Object.fromEntries(parsed.data);
  const names = Object.keys(TOKEN_RULES).join(', ');
  context.addIssue(
    `must be a list of name=allow|reject|inspect, separated by commas; the names are ${names}`,
  );
  return z.NEVER;
});

const payloadKeys = commaSeparated
  .transform((keys) => keys.map((key) => Buffer.from(key, 'base64')))
  .refine(
    (keys) => keys.every((key) => key.length === 32),
    'must be keys of 32 bytes in base64, separated by commas',
  );

const signerKey = z
  .string()
  .refine(
    (text) => /^\s*\[(\s*\d{1,3}\s*,){63}\s*\d{1,3}\s*\]\s*$/.test(text),
    'must be a JSON array of 64 bytes',
  );

const setting = <Schema extends z.ZodType>(name: string, schema: Schema) => ({ name, schema });

/** Every setting: its name in the environment, and its schema with the default. */
export const SETTINGS = {
  temporalAddress: setting('TEMPORAL_ADDRESS', hostPort.default('127.0.0.1:7233')),
  temporalNamespace: setting('TEMPORAL_NAMESPACE', z.string().default('default')),
  databaseUrl: setting('DATABASE_URL', url(/^postgres(ql)?$/, 'a postgres').optional()),
  rpcUrls: setting('SLUICE_RPC_URLS', rpcUrls.optional()),
  rpcRequestsPerSecond: setting('SLUICE_RPC_REQUESTS_PER_SECOND', requestRate.optional()),
  maxTransactionVersion: setting(
    'SLUICE_MAX_TRANSACTION_VERSION',
    inRange(0, 999, 'must be a transaction version from 0 to 999').default(1),
  ),
  cluster: setting('SLUICE_CLUSTER', oneOf('localnet', 'devnet', 'mainnet-beta').default('localnet')),
  hotWallet: setting('SLUICE_HOT_WALLET', address.optional()),
  signerKeyFile: setting('SLUICE_SIGNER_KEY_FILE', z.string().optional()),
  signerKey: setting('SLUICE_SIGNER_KEY', signerKey.optional()),
  workerRole: setting('SLUICE_WORKER_ROLE', oneOf('chain', 'signer', 'x402', 'all').default('all')),
  /** Build ID of this worker for Temporal worker versioning. If it is not set, the worker has no version. */
  workerBuildId: setting('SLUICE_WORKER_BUILD_ID', buildId.optional()),
  workerDeploymentName: setting('SLUICE_WORKER_DEPLOYMENT_NAME', deploymentName.default('sluice')),
  /** Paths of solana-keygen files, set for the x402 worker or for the signer, whichever has the fee payer keys. */
  feePayerKeyFiles: setting('SLUICE_FEE_PAYER_KEY_FILES', nonEmptyStrings.default([])),
  /** `feePayers`: addresses in new quotes. `retiredFeePayers`: addresses that only older quotes contain. */
  feePayers: setting('SLUICE_FEE_PAYERS', addresses.default([])),
  retiredFeePayers: setting('SLUICE_RETIRED_FEE_PAYERS', addresses.default([])),
  x402Routes: setting('SLUICE_X402_ROUTES', z.string().optional()),
  x402Host: setting('SLUICE_X402_HOST', z.string().default('127.0.0.1')),
  x402Port: setting('SLUICE_X402_PORT', port.default(4021)),
  /** Public URL of the gateway, if it differs from its listening address. */
  x402PublicUrl: setting('SLUICE_X402_PUBLIC_URL', httpUrl.optional()),
  x402QuoteSecret: setting('SLUICE_X402_QUOTE_SECRET', quoteSecrets.optional()),
  /** Signs the header Sluice-Payment, by which an upstream verifies that a request is paid. */
  x402UpstreamSecret: setting(
    'SLUICE_X402_UPSTREAM_SECRET',
    z.string().min(32, 'must have at least 32 characters').optional(),
  ),
  x402FacilitatorOpen: setting('SLUICE_X402_FACILITATOR_OPEN', flag.default(false)),
  /** Payments per second of each public client address. */
  x402PaymentRate: setting('SLUICE_X402_PAYMENTS_PER_SECOND', requestRate.default(50)),
  x402TrustedProxies: setting('SLUICE_X402_TRUSTED_PROXIES', nonEmptyStrings.default([])),
  /** Path of the Unix socket on which the x402 worker settles payments for the gateway and the facilitator. */
  x402Socket: setting('SLUICE_X402_SOCKET', socketPath.optional()),
  /** Whether clients connect without a proxy, so that an address that is not public identifies one of them. */
  x402DirectClients: setting('SLUICE_X402_DIRECT_CLIENTS', flag.default(false)),
  x402MaxFeeLamports: setting('SLUICE_X402_MAX_FEE_LAMPORTS', lamports.default(15_000n)),
  /**
   * `x402AssetLamports`: value of a whole token. `x402MaxFeePercent`: maximum priority fee in percent of a payment's
   * value.
   */
  x402AssetLamports: setting('SLUICE_X402_ASSET_LAMPORTS', assetValues.default(new Map())),
  x402MaxFeePercent: setting(
    'SLUICE_X402_MAX_FEE_PERCENT',
    wholeNumber('percent', 0, 99_999).transform(BigInt).default(100n),
  ),
  x402MaxComputeUnits: setting(
    'SLUICE_X402_MAX_COMPUTE_UNITS',
    wholeNumber('compute units', 1_000, 1_400_000).default(60_000),
  ),
  x402RetentionDays: setting('SLUICE_X402_RETENTION_DAYS', wholeNumber('days', 1, 3_650).default(30)),
  /** Lamports; a fee payer with a smaller balance raises the alert `fee_payer_low`. */
  x402FeePayerLow: setting('SLUICE_X402_FEE_PAYER_LOW_LAMPORTS', lamports.default(50_000_000n)),
  /** Path of the facilitator, such as `/facilitator`, or `/` for the root. */
  x402FacilitatorPath: setting('SLUICE_X402_FACILITATOR_PATH', urlPath.default('/facilitator')),
  x402FacilitatorRate: setting('SLUICE_X402_FACILITATOR_REQUESTS_PER_SECOND', requestRate.optional()),
  /** Maximum fees per hour for each caller of the facilitator whose key has no budget of its own. */
  x402FacilitatorBudget: setting('SLUICE_X402_FACILITATOR_LAMPORTS_PER_HOUR', lamports.default(100_000_000n)),
  /** Maximum fees per hour in lamports, for each fee payer key and for each buyer. */
  x402FeePayerBudget: setting('SLUICE_X402_FEE_PAYER_LAMPORTS_PER_HOUR', lamports.default(1_000_000_000n)),
  x402BuyerBudget: setting('SLUICE_X402_BUYER_LAMPORTS_PER_HOUR', lamports.default(100_000_000n)),
  httpHost: setting('SLUICE_HTTP_HOST', z.string().default('127.0.0.1')),
  httpPort: setting('SLUICE_HTTP_PORT', port.default(3402)),
  apiUrl: setting('SLUICE_API_URL', httpUrl.optional()),
  apiKey: setting('SLUICE_API_KEY', z.string().min(16, 'must have at least 16 characters').optional()),
  addressManifestKey: setting(
    'SLUICE_ADDRESS_MANIFEST_KEY',
    z.string().regex(ADDRESS_TEXT, 'must be a base58 public key').optional(),
  ),
  addressLowWater: setting('SLUICE_ADDRESS_LOW_WATER', wholeNumber('addresses', 0, 999_999).default(100)),
  explorerUrl: setting('SLUICE_EXPLORER_URL', httpUrl.default('https://explorer.solana.com')),
  logLevel: setting(
    'SLUICE_LOG_LEVEL',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent').default('info'),
  ),
  metricsAddress: setting('SLUICE_METRICS_ADDRESS', hostPort.optional()),
  priorityFloorMicroLamports: setting('SLUICE_PRIORITY_FLOOR_MICRO_LAMPORTS', microLamports.default(1_000n)),
  priorityCapMicroLamports: setting('SLUICE_PRIORITY_CAP_MICRO_LAMPORTS', microLamports.default(5_000_000n)),
  /** Maximum total fee of a transaction. Chain workers compose within their own setting; signers enforce their own. */
  maxFeeLamports: setting('SLUICE_MAX_FEE_LAMPORTS', lamports.default(500_000n)),
  /**
   * `blockhash` is the default because Solana plans to retire durable nonces:
   * docs/decisions/0011-transaction-lifetimes.md.
   */
  lifetime: setting('SLUICE_LIFETIME', oneOf('blockhash', 'nonce').default('blockhash')),
  landingsAtOnce: setting('SLUICE_LANDINGS_AT_ONCE', wholeNumber('payments', 1, 999_999).default(10_000)),
  confirmUsedWallet: setting('SLUICE_CONFIRM_USED_WALLET', flag.default(false)),
  allowVaults: setting('SLUICE_ALLOW_VAULTS', flag.default(false)),
  tokenPolicy: setting('SLUICE_TOKEN_POLICY', tokenPolicy.default({})),
  scan: setting('SLUICE_SCAN', flag.default(true)),
  scanStartSlot: setting('SLUICE_SCAN_START_SLOT', slot.optional()),
  announceConfirmed: setting('SLUICE_ANNOUNCE_CONFIRMED', flag.default(false)),
  creditOwnerChange: setting('SLUICE_CREDIT_OWNER_CHANGE', flag.default(false)),
  payloadKeys: setting('SLUICE_PAYLOAD_KEY', payloadKeys.default([])),
  webhookAllowPrivate: setting('SLUICE_WEBHOOK_ALLOW_PRIVATE', flag.default(false)),
  webhookAttempts: setting('SLUICE_WEBHOOK_ATTEMPTS', wholeNumber('tries', 1, 9_999).default(80)),
  cacheDir: setting('SLUICE_CACHE_DIR', z.string().optional()),
  temporalCliPath: setting('TEMPORAL_CLI_PATH', z.string().optional()),
} as const;

/** Settings without a default that each role requires. */
export const REQUIRED_SETTINGS = {
  api: ['databaseUrl'],
  chain: ['databaseUrl', 'rpcUrls', 'hotWallet'],
  signer: [],
  x402: ['databaseUrl', 'rpcUrls'],
  all: ['databaseUrl', 'rpcUrls', 'hotWallet'],
  tool: [],
} as const satisfies Record<Role, readonly (keyof typeof SETTINGS)[]>;

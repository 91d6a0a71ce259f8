import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Option } from '@commander-js/extra-typings';
import { inColumns } from '../../src/cli/columns.ts';
import { DEV_FILE } from '../../src/cli/dev-file.ts';
import { EXIT, Interrupted, UsageError } from '../../src/cli/exit.ts';
import { type Output, run } from '../../src/cli/output.ts';
import { SluiceClient } from '../../src/client/client.ts';
import { shutdownSignal, untilAborted } from '../../src/platform/shutdown.ts';
import type { ChainKind } from '../localstack/chain.ts';
import type { DevFacts } from '../localstack/dev-file.ts';
import { isFree } from '../localstack/ports.ts';
import type { RoutesOf, SalesOptions } from '../localstack/sales.ts';
import type { Stack } from '../localstack/stack.ts';
import { lockFolder } from './dev-folder.ts';
import type { DevelopmentPool } from './development-pool.ts';

const HTTP_PORT = '3402';
const UI_PORT = 8233;
const GATEWAY_PORT = 4021;
const KEYS = '.sluice/keys';
/** Temporal's data, for a restart of its server; deleted when the stack stops. */
const TEMPORAL_DATA = '.sluice/temporal';

/** `error`, or Interrupted if `signal` is aborted: the error then results from stopping the stack. */
export function errorOrInterruption(signal: AbortSignal, error: unknown): unknown {
  return signal.aborted ? new Interrupted(`stopped by ${signal.reason}`) : error;
}

export function chainOption() {
  return new Option(
    '--chain <kind>',
    'Chain to start: localnet (default), or validator, a solana-test-validator from PATH',
  ).choices(['localnet', 'validator'] as const);
}

export function registerDev(program: Command): void {
  program
    .command('dev')
    .description('Run Temporal, PostgreSQL, a chain, workers, the API and an x402 gateway until Ctrl-C')
    .addOption(chainOption())
    .option('--rpc <urls>', 'Start no chain: use these nodes, separated by commas (default: SLUICE_RPC_URLS)')
    .option('--routes <file>', 'Routes file to sell (default: SLUICE_X402_ROUTES, or routes of a test shop)')
    .option('--json', 'Print progress to stderr, and the addresses as one JSON line to stdout')
    .action((options) => run(options, (output) => keepStack(output, options)));
}

interface DevOptions {
  readonly chain?: ChainKind | undefined;
  readonly rpc?: string | undefined;
  readonly routes?: string | undefined;
}

async function keepStack(output: Output, options: DevOptions): Promise<number> {
  const settings = withOptions(process.env, options);
  const unlockFolder = lockFolder();
  deleteTemporalData();
  const signal = shutdownSignal();
  signal.addEventListener('abort', () => output.progress('stopping'));
  try {
    await runStack(output, signal, options.chain, settings);
  } catch (error) {
    throw errorOrInterruption(signal, error);
  } finally {
    deleteTemporalData();
    unlockFolder();
  }
  output.progress('stopped');
  return EXIT.ok;
}

/** Runs the stack until `signal` is aborted. Throws if the stack cannot start, or `signal` is aborted before it has. */
async function runStack(
  output: Output,
  signal: AbortSignal,
  chainKind: ChainKind | undefined,
  settings: NodeJS.ProcessEnv,
): Promise<void> {
  const httpPort = await httpPortOf(settings.SLUICE_HTTP_PORT || HTTP_PORT);
  const [{ startStack }, { devFacts, writeDevFile }, { processesOf, supervise }, development] =
    await stackModules();
  const say = (line: string): void => output.progress(line);
  // Another Temporal server can use the default port of the Web UI.
  const uiPort = (await isFree(UI_PORT)) ? { uiPort: UI_PORT } : {};
  const deposits = hasOwnAddresses(settings) ? null : await development.developmentPool(KEYS, say);
  const env = settingsWith(deposits, settings);
  mkdirSync(TEMPORAL_DATA, { recursive: true });
  const dbFile = join(TEMPORAL_DATA, 'temporal.sqlite');
  const stack = await startStack({
    ...(chainKind === undefined ? {} : { chainKind }),
    httpPort,
    ...uiPort,
    dbFile,
    sales: await salesOptions(settings),
    env,
    signal,
    say,
  });
  let removeDevFile = (): void => undefined;
  try {
    const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
    if (deposits !== null) await development.openDeposits(sluice, deposits, stack.chainInfo, signal);
    signal.throwIfAborted();
    await sayClosed(stack, say);
    const webhooksToPrivate = env.SLUICE_WEBHOOK_ALLOW_PRIVATE === 'true';
    const facts = devFacts(stack, { deposits, webhooksToPrivate });
    removeDevFile = writeDevFile(facts, DEV_FILE);
    output.result(facts, describe(facts));
    await Promise.all([untilAborted(signal), supervise(processesOf(stack), withTimestamp(say), signal)]);
  } finally {
    removeDevFile();
    await stack.close();
  }
}

/** Imported on demand, so that other commands start without loading the stack. */
function stackModules() {
  return Promise.all([
    import('../localstack/stack.ts'),
    import('../localstack/dev-file.ts'),
    import('../localstack/supervision.ts'),
    import('./development-pool.ts'),
  ]);
}

/** The options of the command have precedence over the settings. */
function withOptions(env: NodeJS.ProcessEnv, { chain, rpc, routes }: DevOptions): NodeJS.ProcessEnv {
  if (chain !== undefined && rpc !== undefined)
    throw new UsageError('--chain starts a chain, and --rpc uses another one: give one of them');
  const file = routes ?? (env.SLUICE_X402_ROUTES || undefined);
  if (file !== undefined && !existsSync(file)) throw new UsageError(`the routes file ${file} does not exist`);
  return {
    ...env,
    ...(rpc === undefined ? {} : { SLUICE_RPC_URLS: rpc }),
    ...(file === undefined ? {} : { SLUICE_X402_ROUTES: file }),
  };
}

async function salesOptions({
  SLUICE_X402_PORT,
  SLUICE_X402_ROUTES: routesFile,
}: NodeJS.ProcessEnv): Promise<SalesOptions> {
  const port = Number(SLUICE_X402_PORT || GATEWAY_PORT);
  return {
    routesOf: developmentRoutes,
    ...(routesFile ? { routesFile } : {}),
    ...((await isFree(port)) ? { port } : {}),
  };
}

/** Says why routes are not sold yet, such as a missing mint or token account. */
async function sayClosed({ gateway, sales, chainKind }: Stack, say: (line: string) => void): Promise<void> {
  // On a chain of the stack, the accounts are final a moment later.
  if (gateway === null || (chainKind !== null && sales !== null)) return;
  const response = await fetch(`${gateway.gatewayUrl}/healthz`).catch(() => null);
  const { reasons = [] } = ((await response?.json()) ?? {}) as { readonly reasons?: readonly string[] };
  for (const reason of reasons) say(`not sold yet: ${reason}`);
}

/** A static route, a free one, and one with an upstream: the API itself, so that no other process is needed. */
const developmentRoutes: RoutesOf = ({ seller, asset, apiUrl }) => {
  const price = { amount: '1000', asset };
  return {
    payTo: seller,
    routes: [
      { path: '/hello', price, description: 'A greeting', answer: { body: { hello: 'world' } } },
      { path: '/openapi.json', price, description: 'A document of an upstream', upstream: apiUrl },
      { path: '/about', free: true, answer: { body: 'GET /hello and GET /openapi.json are sold here.' } },
    ],
  };
};

function deleteTemporalData(): void {
  rmSync(TEMPORAL_DATA, { recursive: true, force: true });
}

/** True if a chain or a manifest key is set: the developer then imports deposit addresses. */
function hasOwnAddresses({ SLUICE_RPC_URLS, SLUICE_ADDRESS_MANIFEST_KEY }: NodeJS.ProcessEnv): boolean {
  return Boolean(SLUICE_RPC_URLS || SLUICE_ADDRESS_MANIFEST_KEY);
}

/** Allows webhooks to private addresses, because a developer's receivers run on the same machine. */
function settingsWith(deposits: DevelopmentPool | null, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    ...env,
    SLUICE_WEBHOOK_ALLOW_PRIVATE: env.SLUICE_WEBHOOK_ALLOW_PRIVATE || 'true',
    ...(deposits === null ? {} : { SLUICE_ADDRESS_MANIFEST_KEY: deposits.manifest.publicKey }),
  };
}

/** Adds timestamps, because days can pass between two lines of the supervision. */
function withTimestamp(say: (line: string) => void): (line: string) => void {
  return (line) => say(`${new Date().toISOString()}  ${line}`);
}

async function httpPortOf(text: string): Promise<number> {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535)
    throw new UsageError(`SLUICE_HTTP_PORT must be a port number, not ${text}`);
  if (!(await isFree(port)))
    throw new UsageError(
      `port ${port} is in use: stop the program that listens on it, or set SLUICE_HTTP_PORT to another port`,
    );
  return port;
}

const MINT_NOTES: Readonly<Record<string, string>> = {
  mint: 'a token with 6 decimals',
  feeMint: 'a Token-2022 token with a transfer fee',
  plantedMint: 'a token at the address of USDC on devnet',
};

const DEPOSIT_FILE_LABELS: Readonly<Record<string, string>> = {
  manifestFile: 'deposit addresses',
  mnemonicFile: 'their mnemonic',
};

function describe(facts: DevFacts): string {
  const rows: readonly (readonly [string, string])[] = [
    ['API', facts.apiUrl],
    ['OpenAPI', facts.openapiUrl],
    ['API key', noted(facts.apiKey, `stored with each request as ${facts.apiKeyName}`)],
    ['Temporal Web UI', noted(facts.temporalUi ?? 'none', facts.temporalUiNote)],
    ['Web UI, deposits', facts.temporalUiDeposits ?? 'none'],
    ['Temporal gRPC', `${facts.temporalAddress}   (namespace ${facts.temporalNamespace})`],
    ['PostgreSQL', facts.databaseUrl],
    ...facts.rpcUrls.map((url, index) => [`Solana RPC ${index + 1}`, url] as const),
    ['hot wallet', facts.hotWallet],
    ['its key file', facts.signerKeyFile],
    ...Object.entries(facts.mints).map(
      ([name, mint]) => [name, noted(mint, MINT_NOTES[name] ?? null)] as const,
    ),
    ...Object.entries(facts.deposits ?? {}).map(
      ([name, file]) => [DEPOSIT_FILE_LABELS[name] ?? name, file] as const,
    ),
    ...salesRows(facts.sales),
    ['webhooks', facts.webhooksToPrivate ? 'to any address' : 'to public addresses only'],
    ['logs', facts.logs],
  ];
  const hints = facts.sales === null ? [] : salesHints(facts.sales);
  const table = inColumns(rows, '   ').map((line) => `  ${line}`);
  return [
    '',
    ...table,
    '',
    ...hints,
    `  These values are also in ${DEV_FILE}. Ctrl-C stops everything; only ${KEYS} and the logs remain.`,
  ].join('\n');
}

function salesRows(sales: DevFacts['sales']): readonly (readonly [string, string])[] {
  if (sales === null) return [];
  return [
    ['x402 gateway', sales.gatewayUrl],
    ['its routes', sales.routesFile],
    ['its fee payer', sales.feePayer],
    ...(sales.buyerKeyFile === null ? [] : [["a buyer's key file", sales.buyerKeyFile] as const]),
  ];
}

/** For routes that the stack made. */
function salesHints({ gatewayUrl, buyerKeyFile }: NonNullable<DevFacts['sales']>): readonly string[] {
  if (buyerKeyFile === null) return [];
  return [
    `  See a 402:  curl -i ${gatewayUrl}/hello`,
    `  Buy once:   npm run sluice -- x402 buy ${gatewayUrl}/hello`,
    '',
  ];
}

function noted(value: string, note: string | null): string {
  return note === null ? value : `${value}   (${note})`;
}

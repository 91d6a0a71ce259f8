import { join, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { openLedger } from '../../src/ledger/ledger.ts';
import { Closers } from '../../src/platform/shutdown.ts';
import {
  type ChainInfo,
  type ChainKind,
  type LocalChain,
  type LocalChainOptions,
  startChain,
} from './chain.ts';
import { apiKeyNameOf, keypairFile, storedApiKey } from './keypair.ts';
import { ownChain } from './own-chain.ts';
import type { MintTo } from './payer.ts';
import { freePort } from './ports.ts';
import { type LocalPostgres, startPostgres } from './postgres.ts';
import type { ManagedProcess } from './process.ts';
import { type Gateway, gatewayOfFile, prepareSales, type Sales, type SalesOptions } from './sales.ts';
import { apiProcess, type ServiceContext, workerProcess } from './services.ts';
import { type LocalTemporal, startTemporal } from './temporal.ts';
import { findValidator, startValidator } from './validator.ts';

export interface StackOptions extends LocalChainOptions {
  /** Directory of keys, logs and the chain's ready file. Default `.sluice`. */
  readonly stateDir?: string;
  /** The chain to start. Default: localnet; no chain if `SLUICE_RPC_URLS` is set. */
  readonly chainKind?: ChainKind;
  readonly httpPort?: number;
  readonly uiPort?: number;
  readonly ui?: boolean;
  /** SQLite file of the Temporal server, so that workflows survive its restart. Default: in memory. */
  readonly dbFile?: string;
  /** Adds an x402 gateway and its worker. Default: none. */
  readonly sales?: SalesOptions;
  readonly env?: NodeJS.ProcessEnv;
  /** If aborted during the start, the started processes are stopped, and the reason is thrown. */
  readonly signal?: AbortSignal;
  readonly say?: (line: string) => void;
}

/** A running Sluice with all its services. Each process can be killed and restarted separately. */
export interface Stack {
  readonly temporal: Pick<LocalTemporal, 'address' | 'namespace' | 'uiUrl' | 'uiNote'>;
  readonly databaseUrl: string;
  readonly rpcUrls: readonly string[];
  /** Values that the development chain reported; null on a chain of `SLUICE_RPC_URLS`, as are `chainKind` and `mintTo`. */
  readonly chainInfo: ChainInfo | null;
  readonly chainKind: ChainKind | null;
  readonly mintTo: MintTo | null;
  readonly hotWallet: string;
  readonly signerKeyFile: string;
  readonly apiUrl: string;
  readonly apiKey: string;
  /** The `actor` that is recorded for requests with this key. */
  readonly apiKeyName: string;
  readonly logDir: string;
  /** `temporalServer`, `postgres` and `chain` are null if the stack did not start them. */
  readonly temporalServer: ManagedProcess | null;
  /** Null if Temporal's data is in memory, or the stack did not start the server. */
  readonly dbFile: string | null;
  readonly postgres: ManagedProcess | null;
  readonly chain: ManagedProcess | null;
  readonly worker: ManagedProcess;
  readonly signer: ManagedProcess;
  readonly api: ManagedProcess;
  readonly gateway: Gateway | null;
  /** Null also if the routes file is not of the stack. */
  readonly sales: Sales | null;
  readonly x402: ManagedProcess | null;
  addWorker(name: string): Promise<ManagedProcess>;
  close(): Promise<void>;
}

interface Base {
  readonly temporal: LocalTemporal;
  readonly postgres: LocalPostgres;
  readonly chain: LocalChain | null;
  readonly key: ReturnType<typeof keypairFile>;
}

async function startBase(options: StackOptions, dir: string, closers: Closers): Promise<Base> {
  const env = options.env ?? process.env;
  const say = options.say ?? (() => undefined);
  const logDir = join(dir, 'logs');
  const registerService = <T extends { stop(): Promise<void> }>(name: string) => {
    return (service: T): T => {
      closers.add(name, () => service.stop());
      options.signal?.throwIfAborted();
      say(`${name} is up`);
      return service;
    };
  };
  const key = keypairFile(env.SLUICE_SIGNER_KEY_FILE || join(dir, 'keys', 'hot-wallet.json'));
  if (env.SLUICE_RPC_URLS && options.chainKind !== undefined)
    throw new Error(
      `SLUICE_RPC_URLS is set and a chain (${options.chainKind}) was requested: unset SLUICE_RPC_URLS, or request no chain`,
    );
  // Check before starting any service, so that a missing program fails at once.
  if (options.chainKind === 'validator') findValidator(env);
  const start = options.chainKind === 'validator' ? startValidator : startChain;
  const chainStart = env.SLUICE_RPC_URLS
    ? Promise.resolve(null)
    : start({ ...options, hotWallet: key.address, stateDir: dir, env }).then(registerService('chain'));
  const starts = [
    startTemporal({ ...options, env, logDir, say }).then(registerService('Temporal')),
    startPostgres({ ...options, env, logDir }).then(registerService('PostgreSQL')),
    chainStart,
  ] as const;
  // Wait for all services before throwing the first failure, so that every started service has its closer.
  await Promise.allSettled(starts);
  const [temporal, postgres, chain] = await Promise.all(starts);
  return { temporal, postgres, chain, key };
}

/** Stores the API key in the database and returns its name. A key that is already stored keeps its earlier name. */
async function registerApiKey(databaseUrl: string, key: string): Promise<string> {
  const ledger = await openLedger(databaseUrl);
  try {
    const known = await ledger.apiKeys.nameOf(key);
    if (known !== null) return known;
    const name = apiKeyNameOf(key);
    await ledger.apiKeys.add(name, key);
    return name;
  } finally {
    await ledger.close();
  }
}

/** Settings of the services. Only the signer gets the path of the key file, and it does not get the database URL. Only the x402 worker gets the fee payers. */
function serviceEnvironments(
  base: Base,
  env: NodeJS.ProcessEnv,
  rpcUrls: readonly string[],
  httpPort: number,
) {
  const {
    SLUICE_SIGNER_KEY: _key,
    SLUICE_SIGNER_KEY_FILE: _file,
    SLUICE_API_KEY: _apiKey,
    SLUICE_WORKER_BUILD_ID: _buildId,
    SLUICE_FEE_PAYER_KEY_FILES: _feePayers,
    ...rest
  } = env;
  const common: NodeJS.ProcessEnv = {
    ...rest,
    TEMPORAL_ADDRESS: base.temporal.address,
    TEMPORAL_NAMESPACE: base.temporal.namespace,
  };
  const { DATABASE_URL: _database, ...withoutDatabase } = common;
  return {
    signer: { ...withoutDatabase, SLUICE_SIGNER_KEY_FILE: base.key.path },
    others: {
      ...common,
      DATABASE_URL: base.postgres.url,
      SLUICE_RPC_URLS: rpcUrls.join(','),
      SLUICE_HOT_WALLET: base.key.address,
      SLUICE_HTTP_PORT: String(httpPort),
    },
  };
}

function rpcUrlsOf(base: Base, env: NodeJS.ProcessEnv): readonly string[] {
  return base.chain?.info.rpcUrls ?? (env.SLUICE_RPC_URLS ?? '').split(',').map((url) => url.trim());
}

/** Starts Temporal, PostgreSQL, the chain, the signer, one chain worker and the API. If one start fails, all are stopped. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const closers = new Closers();
  try {
    return await assemble(options, closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

function starter(
  options: StackOptions,
  closers: Closers,
): (service: ManagedProcess) => Promise<ManagedProcess> {
  return async (service) => {
    closers.add(service.name, () => service.stop());
    await service.start(options.signal);
    options.signal?.throwIfAborted();
    options.say?.(`${service.name} is up`);
    return service;
  };
}

/** Nothing without the option. On a chain of `SLUICE_RPC_URLS` that gives no SOL, only a routes file is sold. */
async function salesOf(
  { sales: options, env = process.env, say = () => undefined }: StackOptions,
  chain: LocalChain | null,
  rpcUrls: readonly string[],
  dir: string,
  apiUrl: string,
): Promise<Pick<Stack, 'gateway' | 'sales'>> {
  const nothing = { gateway: null, sales: null };
  if (options === undefined) return nothing;
  const { port, routesFile } = options;
  if (routesFile !== undefined) {
    const gateway = await gatewayOfFile({ port, routesFile }, rpcUrls[0] ?? '', dir, env, say);
    return { gateway, sales: null };
  }
  const place = chain ?? (await ownChain(rpcUrls, dir, say));
  if (place === null) return nothing;
  const sales = await prepareSales(options, place, dir, apiUrl, say);
  return { gateway: sales, sales };
}

async function assemble(options: StackOptions, closers: Closers): Promise<Stack> {
  const { compiledIn } = options;
  const settings = options.env ?? process.env;
  const dir = resolve(options.stateDir ?? '.sluice');
  const logDir = join(dir, 'logs');
  const base = await startBase(options, dir, closers);
  const rpcUrls = rpcUrlsOf(base, settings);
  const connection = await Connection.connect({ address: base.temporal.address });
  closers.add('Temporal connection', () => connection.close());
  const apiKey = settings.SLUICE_API_KEY || storedApiKey(join(dir, 'keys', 'api-key'));
  const apiKeyName = await registerApiKey(base.postgres.url, apiKey);
  const httpPort = options.httpPort ?? (await freePort());
  const apiUrl = `http://127.0.0.1:${httpPort}`;
  const environments = serviceEnvironments(base, settings, rpcUrls, httpPort);
  const { namespace } = base.temporal;
  const { gateway, sales } = await salesOf(options, base.chain, rpcUrls, dir, apiUrl);
  const env = { ...environments.others, ...gateway?.env };
  const context: ServiceContext = { connection, namespace, env, logDir, compiledIn };
  const run = starter(options, closers);
  const [signer, worker, api, x402] = await Promise.all([
    run(workerProcess({ ...context, env: environments.signer }, 'signer', 'signer')),
    run(workerProcess(context, 'worker', 'chain')),
    run(apiProcess(context, apiUrl)),
    gateway && run(workerProcess({ ...context, env: { ...env, ...gateway.keys } }, 'x402', 'x402')),
  ]);
  return {
    ...factsOf(base, options),
    rpcUrls,
    apiUrl,
    apiKey,
    apiKeyName,
    logDir,
    signer,
    worker,
    api,
    gateway,
    sales,
    x402,
    addWorker: (name) => run(workerProcess(context, name, 'chain')),
    close: () => closers.close(),
  };
}

function factsOf({ temporal, postgres, chain, key }: Base, { dbFile }: StackOptions) {
  return {
    temporal,
    temporalServer: temporal.process,
    dbFile: temporal.process === null ? null : (dbFile ?? null),
    postgres: postgres.process,
    databaseUrl: postgres.url,
    chain: chain?.process ?? null,
    chainInfo: chain?.info ?? null,
    chainKind: chain?.kind ?? null,
    mintTo: chain?.mintTo ?? null,
    hotWallet: key.address,
    signerKeyFile: key.path,
  };
}

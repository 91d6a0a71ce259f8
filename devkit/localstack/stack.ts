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
import { keptApiKey, keypairFile, nameOfKey } from './keypair.ts';
import type { MintTo } from './payer.ts';
import { freePort } from './ports.ts';
import { type LocalPostgres, startPostgres } from './postgres.ts';
import type { ManagedProcess } from './process.ts';
import { prepareSales, type Sales, type SalesOptions } from './sales.ts';
import { apiProcess, type ServiceContext, workerProcess } from './services.ts';
import { type LocalTemporal, startTemporal } from './temporal.ts';
import { findValidator, startValidator } from './validator.ts';

export interface StackOptions extends LocalChainOptions {
  /** Keys, logs and the chain's ready file. Default `.sluice`. */
  readonly stateDir?: string;
  /** The chain to start. Default: localnet, or none where `SLUICE_RPC_URLS` names nodes. */
  readonly chainKind?: ChainKind;
  /** Default: a free one. */
  readonly httpPort?: number;
  /** Default: a free one. */
  readonly uiPort?: number;
  /** Temporal's Web UI. Default true. */
  readonly ui?: boolean;
  /** Lets Temporal survive a restart; the SQLite file of its server. */
  readonly dbFile?: string;
  /** A gateway that sells on the development chain, and its worker. Default: none. */
  readonly sales?: SalesOptions;
  readonly env?: NodeJS.ProcessEnv;
  /** Aborted before all is up, it ends the start: what has started is stopped, and the reason thrown. */
  readonly signal?: AbortSignal;
  readonly say?: (line: string) => void;
}

/** A whole running Sluice. Every process can be killed and started again on its own. */
export interface Stack {
  readonly temporal: Pick<LocalTemporal, 'address' | 'namespace' | 'uiUrl' | 'uiNote'>;
  readonly databaseUrl: string;
  readonly rpcUrls: readonly string[];
  /** What the development chain said of itself; null on a chain of `SLUICE_RPC_URLS`. */
  readonly chainInfo: ChainInfo | null;
  /** Null on a chain of `SLUICE_RPC_URLS`, as is `mintTo`. */
  readonly chainKind: ChainKind | null;
  readonly mintTo: MintTo | null;
  readonly hotWallet: string;
  readonly signerKeyFile: string;
  readonly apiUrl: string;
  readonly apiKey: string;
  /** Who gave an order by that key, as records and answers say it: `actor`. */
  readonly apiKeyName: string;
  readonly logDir: string;
  /** Null where the server is not of this stack. */
  readonly temporalServer: ManagedProcess | null;
  /** What Temporal has on disk; null where it has all in memory, or is not of this stack. */
  readonly dbFile: string | null;
  /** Null where the server is not of this stack. */
  readonly postgres: ManagedProcess | null;
  readonly chain: ManagedProcess | null;
  readonly worker: ManagedProcess;
  readonly signer: ManagedProcess;
  readonly api: ManagedProcess;
  /** Null where nothing is sold. */
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
  const started = <T extends { stop(): Promise<void> }>(name: string) => {
    return (service: T): T => {
      closers.add(name, () => service.stop());
      options.signal?.throwIfAborted();
      say(`${name} is up`);
      return service;
    };
  };
  const key = keypairFile(env.SLUICE_SIGNER_KEY_FILE || join(dir, 'keys', 'hot-wallet.json'));
  if (env.SLUICE_RPC_URLS && options.chainKind !== undefined)
    throw new Error(`unset SLUICE_RPC_URLS, or start no ${options.chainKind}: one chain is enough`);
  // Before anything else is started: it takes an operator to mend it.
  if (options.chainKind === 'validator') findValidator(env);
  const start = options.chainKind === 'validator' ? startValidator : startChain;
  const chainStart = env.SLUICE_RPC_URLS
    ? Promise.resolve(null)
    : start({ ...options, hotWallet: key.address, stateDir: dir, env }).then(started('chain'));
  const starts = [
    startTemporal({ ...options, env, logDir, say }).then(started('Temporal')),
    startPostgres({ ...options, env, logDir }).then(started('PostgreSQL')),
    chainStart,
  ] as const;
  // All of them have a closer, or have failed, before the first failure is thrown.
  await Promise.allSettled(starts);
  const [temporal, postgres, chain] = await Promise.all(starts);
  return { temporal, postgres, chain, key };
}

/** Registers the key at the API. Returns its name; a key that is already stored keeps its earlier name. */
async function giveKey(databaseUrl: string, key: string): Promise<string> {
  const ledger = await openLedger(databaseUrl);
  try {
    const known = await ledger.apiKeys.nameOf(key);
    if (known !== null) return known;
    const name = nameOfKey(key);
    await ledger.apiKeys.add(name, key);
    return name;
  } finally {
    await ledger.close();
  }
}

/** Settings of the services. Only the signer learns where the key is, and nothing else of the database. */
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

function nodesOf(base: Base, env: NodeJS.ProcessEnv): readonly string[] {
  return base.chain?.info.rpcUrls ?? (env.SLUICE_RPC_URLS ?? '').split(',').map((url) => url.trim());
}

/** Starts Temporal, PostgreSQL, the chain, the signer, one chain worker and the API. Whatever started is stopped when one fails. */
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

/** Null where nothing is to be sold, or the chain is not ours. */
async function salesOf(
  { sales }: StackOptions,
  chain: LocalChain | null,
  dir: string,
  apiUrl: string,
): Promise<Sales | null> {
  return sales === undefined || chain === null ? null : prepareSales(sales, chain, dir, apiUrl);
}

async function assemble(options: StackOptions, closers: Closers): Promise<Stack> {
  const { compiledIn } = options;
  const settings = options.env ?? process.env;
  const dir = resolve(options.stateDir ?? '.sluice');
  const logDir = join(dir, 'logs');
  const base = await startBase(options, dir, closers);
  const rpcUrls = nodesOf(base, settings);
  const connection = await Connection.connect({ address: base.temporal.address });
  closers.add('Temporal connection', () => connection.close());
  const apiKey = settings.SLUICE_API_KEY || keptApiKey(join(dir, 'keys', 'api-key'));
  const apiKeyName = await giveKey(base.postgres.url, apiKey);
  const httpPort = options.httpPort ?? (await freePort());
  const apiUrl = `http://127.0.0.1:${httpPort}`;
  const environments = serviceEnvironments(base, settings, rpcUrls, httpPort);
  const { namespace } = base.temporal;
  const sales = await salesOf(options, base.chain, dir, apiUrl);
  const env = { ...environments.others, ...sales?.env };
  const context: ServiceContext = { connection, namespace, env, logDir, compiledIn };
  const run = starter(options, closers);
  const [signer, worker, api, x402] = await Promise.all([
    run(workerProcess({ ...context, env: environments.signer }, 'signer', 'signer')),
    run(workerProcess(context, 'worker', 'chain')),
    run(apiProcess(context, apiUrl)),
    sales && run(workerProcess({ ...context, env: { ...env, ...sales.keys } }, 'x402', 'x402')),
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

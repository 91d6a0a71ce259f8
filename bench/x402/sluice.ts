import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import type { KeypairFile } from '../../devkit/localstack/keypair.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import { startPostgres } from '../../devkit/localstack/postgres.ts';
import type { ManagedProcess } from '../../devkit/localstack/process.ts';
import { prepareSales, type Sales } from '../../devkit/localstack/sales.ts';
import { apiProcess, type ServiceContext, workerProcess } from '../../devkit/localstack/services.ts';
import { startTemporal } from '../../devkit/localstack/temporal.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import type { Closers } from '../../src/platform/shutdown.ts';
import { type CountingProxy, startCountingProxy } from '../../test/peers/counting-proxy.ts';
import { PRICED } from '../../test/peers/peer-server.ts';
import { startHttp } from '../../test/support/http.ts';
import type { Place, Seller } from './market.ts';
import type { Pids } from './processes.ts';
import { untilSettled } from './settled.ts';

interface SluiceOptions {
  readonly flags: readonly string[];
  /** Whether a chain worker and the signer run, too. */
  readonly isWhole: boolean;
  readonly hotWallet: KeypairFile;
}

/** Starts PostgreSQL, Temporal, the gateway and the x402 worker; if `isWhole`, also a chain worker, which scans, and the signer. */
export async function startSluice(place: Place, options: SluiceOptions, closers: Closers): Promise<Seller> {
  const node = await startCountingProxy(place.nodeUrl);
  closers.add('proxy of ours', () => node.close());
  const { postgres, temporal, ledger, connection } = await startServers(place, closers);
  const httpPort = await freePort();
  const apiUrl = `http://127.0.0.1:${httpPort}`;
  const sales = await sell(place, apiUrl, closers);
  const env = {
    ...place.env,
    ...sales.env,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    DATABASE_URL: postgres.url,
    SLUICE_RPC_URLS: node.url,
    SLUICE_HTTP_PORT: String(httpPort),
    SLUICE_HOT_WALLET: options.hotWallet.address,
  };
  const context = { connection, namespace: temporal.namespace, env, logDir: join(place.dir, 'logs') };
  // The processes hand their context on to `nodeProgram`, which takes the flags.
  const profiled = { ...context, flags: options.flags };
  const serving = {
    gateway: apiProcess(profiled, apiUrl),
    x402Worker: workerProcess({ ...profiled, env: { ...env, ...sales.keys } }, 'x402', 'x402'),
  };
  const beside = options.isWhole ? await besideProcesses(place, context, options.hotWallet, closers) : null;
  const processes = { ...serving, ...beside?.processes };
  for (const each of Object.values(processes)) closers.add(each.name, () => each.stop());
  await Promise.all(Object.values(processes).map((each) => each.start()));
  return {
    name: 'ours',
    url: `${sales.gatewayUrl}${PRICED.path}`,
    payTo: sales.seller,
    node,
    besideNode: beside?.node ?? null,
    processes: pidsOf({ ...processes, temporal: temporal.process, postgres: postgres.process }),
    settled: () => untilSettled(ledger, { connection, namespace: temporal.namespace }),
  };
}

async function startServers({ env, dir }: Place, closers: Closers) {
  const logDir = join(dir, 'logs');
  const postgres = await startPostgres({ env, logDir });
  closers.add('PostgreSQL', () => postgres.stop());
  const temporal = await startTemporal({ env, logDir, ui: false });
  closers.add('Temporal', () => temporal.stop());
  const ledger = await openLedger(postgres.url);
  closers.add('ledger', () => ledger.close());
  const connection = await Connection.connect({ address: temporal.address });
  closers.add('Temporal connection', () => connection.close());
  return { postgres, temporal, ledger, connection };
}

/** The parts of the product that serve no payment. Their calls have a proxy of their own. */
async function besideProcesses(
  { nodeUrl }: Place,
  context: ServiceContext,
  hotWallet: KeypairFile,
  closers: Closers,
): Promise<{ readonly node: CountingProxy; readonly processes: Readonly<Record<string, ManagedProcess>> }> {
  const node = await startCountingProxy(nodeUrl);
  closers.add('proxy of the chain worker', () => node.close());
  const { DATABASE_URL: _database, ...withoutDatabase } = context.env;
  const chainEnv = { ...context.env, SLUICE_RPC_URLS: node.url, SLUICE_SCAN: 'true' };
  const signerEnv = { ...withoutDatabase, SLUICE_SIGNER_KEY_FILE: hotWallet.path };
  const processes = {
    chainWorker: workerProcess({ ...context, env: chainEnv }, 'worker', 'chain'),
    signer: workerProcess({ ...context, env: signerEnv }, 'signer', 'signer'),
  };
  return { node, processes };
}

/** A route at the price of the official server, in front of an upstream with the same answer in this process. */
async function sell({ chain, dir }: Place, apiUrl: string, closers: Closers): Promise<Sales> {
  const upstream = await startHttp(async (_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(PRICED.body));
  });
  closers.add('upstream', () => upstream.close());
  const routesOf = ({ seller, asset }: { readonly seller: string; readonly asset: string }) => ({
    payTo: seller,
    routes: [
      { path: PRICED.path, price: { amount: PRICED.amount.toString(), asset }, upstream: upstream.url },
    ],
  });
  return prepareSales({ routesOf }, chain, dir, apiUrl);
}

function pidsOf(processes: Readonly<Record<string, { readonly pid: number | undefined } | null>>): Pids {
  return Object.fromEntries(
    Object.entries(processes).flatMap(([name, one]) => (one?.pid === undefined ? [] : [[name, one.pid]])),
  );
}

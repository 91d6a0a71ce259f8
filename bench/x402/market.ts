import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Keypair } from '@solana/web3.js';
import { Connection } from '@temporalio/client';
import { type LocalChain, startChain } from '../../devkit/localstack/chain.ts';
import type { Token } from '../../devkit/localstack/payer.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import { startPostgres } from '../../devkit/localstack/postgres.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { prepareSales, type Sales } from '../../devkit/localstack/sales.ts';
import { apiProcess, workerProcess } from '../../devkit/localstack/services.ts';
import { startTemporal } from '../../devkit/localstack/temporal.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { Closers } from '../../src/platform/shutdown.ts';
import { type CountingProxy, startCountingProxy } from '../../test/peers/counting-proxy.ts';
import { startPeerProcess } from '../../test/peers/peer-process.ts';
import { PRICED } from '../../test/peers/peer-server.ts';
import { startHttp } from '../../test/support/http.ts';
import { benchEnvironment } from '../settings.ts';
import { type Phases, phasesOf } from './phases.ts';

/** One of the two compared sellers. */
export interface Seller {
  readonly name: 'ours' | 'theirs';
  /** The priced route. */
  readonly url: string;
  /** The wallet that receives the payments. */
  readonly payTo: string;
  /** Between the seller and the node. */
  readonly node: CountingProxy;
  /** Leaders of the process groups that serve. */
  readonly serving: readonly number[];
  /** Leaders of the process groups of the servers that they need: Temporal and PostgreSQL. */
  readonly supporting: readonly number[];
  /** Resolves when the seller polls no payment any longer. */
  settled(): Promise<void>;
  /** Durations of the phases of the payments since then; null if the seller does not record them. */
  phases(since: Date): Promise<Phases | null>;
}

/** Both sellers on one chain. */
export interface Market {
  readonly chain: LocalChain;
  readonly nodeUrl: string;
  readonly token: Token;
  readonly sellers: readonly [ours: Seller, theirs: Seller];
}

export interface MarketOptions {
  readonly slotMs: number;
  readonly finalityLag: number;
  /** Flags of Node.js for our processes, such as `--cpu-prof`. */
  readonly flags?: readonly string[];
}

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const FEE_PAYER_LAMPORTS = 10_000_000_000;
const POLL_MS = 200;

/** Starts the chain, our gateway with its worker and servers, and the official server with its facilitator. */
export async function openMarket(options: MarketOptions, closers: Closers): Promise<Market> {
  const dir = resolve('.sluice/bench-x402');
  mkdirSync(dir, { recursive: true });
  const env = benchEnvironment();
  const hotWallet = Keypair.generate().publicKey.toBase58();
  const chain = await startChain({ ...options, nodes: 1, hotWallet, stateDir: dir, env });
  closers.add('chain', () => chain.stop());
  const nodeUrl = chain.info.rpcUrls[0] ?? '';
  const ours = await startSluiceSeller(
    { chain, nodeUrl, dir, env: { ...env, SLUICE_HOT_WALLET: hotWallet } },
    options,
    closers,
  );
  const token = { mint: ours.sales.asset, program: TOKEN_PROGRAM };
  const theirs = await startOfficialSeller(chain, token, dir, closers);
  return { chain, nodeUrl, token, sellers: [ours.seller, theirs] };
}

interface Environment {
  readonly chain: LocalChain;
  readonly nodeUrl: string;
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
}

async function startSluiceSeller(place: Environment, { flags = [] }: MarketOptions, closers: Closers) {
  const logDir = join(place.dir, 'logs');
  const node = await startCountingProxy(place.nodeUrl);
  closers.add('proxy of ours', () => node.close());
  const postgres = await startPostgres({ env: place.env, logDir });
  closers.add('PostgreSQL', () => postgres.stop());
  const temporal = await startTemporal({ env: place.env, logDir, ui: false });
  closers.add('Temporal', () => temporal.stop());
  const ledger = await openLedger(postgres.url);
  closers.add('ledger', () => ledger.close());
  const connection = await Connection.connect({ address: temporal.address });
  closers.add('Temporal connection', () => connection.close());
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
  };
  // The processes hand their context on to `nodeProgram`, which takes the flags.
  const context = { connection, namespace: temporal.namespace, env, logDir, flags };
  const api = apiProcess(context, apiUrl);
  const worker = workerProcess({ ...context, env: { ...env, ...sales.keys } }, 'x402', 'x402');
  closers.add('API', () => api.stop());
  closers.add('x402 worker', () => worker.stop());
  await Promise.all([api.start(), worker.start()]);
  const seller: Seller = {
    name: 'ours',
    url: `${sales.gatewayUrl}${PRICED.path}`,
    payTo: sales.seller,
    node,
    serving: pids(api, worker),
    supporting: pids(temporal.process, postgres.process),
    settled: () => untilSettled(ledger),
    phases: (since) => phasesOf(ledger, since),
  };
  return { seller, sales };
}

/** A route at the price of the official server, in front of an upstream with the same answer in this process. */
async function sell({ chain, dir }: Environment, apiUrl: string, closers: Closers): Promise<Sales> {
  const upstream = await startHttp(async (_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(PRICED.body));
  });
  closers.add('upstream', () => upstream.close());
  const price = { amount: PRICED.amount.toString() };
  const routesOf = ({ seller }: { readonly seller: string }) => ({
    payTo: seller,
    routes: [{ path: PRICED.path, price, upstream: upstream.url }],
  });
  return prepareSales({ routesOf }, chain, dir, apiUrl);
}

async function untilSettled(ledger: Ledger): Promise<void> {
  const first = async () => (await ledger.settlements.listUnfinished().next()).value;
  while ((await first()) !== undefined) await sleep(POLL_MS);
}

async function startOfficialSeller(
  chain: LocalChain,
  token: Token,
  dir: string,
  closers: Closers,
): Promise<Seller> {
  const nodeUrl = chain.info.rpcUrls[0] ?? '';
  const node = await startCountingProxy(nodeUrl);
  closers.add('proxy of theirs', () => node.close());
  const feePayer = Keypair.generate();
  const payTo = Keypair.generate().publicKey.toBase58();
  await rpc(nodeUrl, 'requestAirdrop', [feePayer.publicKey.toBase58(), FEE_PAYER_LAMPORTS]);
  // One unit creates the seller's token account.
  await chain.mintTo(token, payTo, 1n);
  const secretKey = [...feePayer.secretKey];
  const facilitator = await startPeerProcess({ peer: 'facilitator', rpcUrl: node.url, secretKey }, dir);
  closers.add('official facilitator', () => facilitator.stop());
  const server = await startPeerProcess({ peer: 'server', facilitatorUrl: facilitator.url, payTo }, dir);
  closers.add('official server', () => server.stop());
  return {
    name: 'theirs',
    url: `${server.url}${PRICED.path}`,
    payTo,
    node,
    serving: [facilitator.pid, server.pid],
    supporting: [],
    settled: async () => undefined,
    phases: async () => null,
  };
}

function pids(...processes: readonly ({ readonly pid: number | undefined } | null)[]): readonly number[] {
  return processes.flatMap((one) => one?.pid ?? []);
}

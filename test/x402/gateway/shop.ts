import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import type { Client } from '@temporalio/client';
import { NativeConnection, type Worker } from '@temporalio/worker';
import { sql } from 'kysely';
import { expect, vi } from 'vitest';
import { type Localnet, type LocalnetOptions, startLocalnet } from '../../../devkit/localnet/localnet.ts';
import { freePort } from '../../../devkit/localstack/ports.ts';
import { type Ledger, openLedger } from '../../../src/ledger/ledger.ts';
import { readConfig } from '../../../src/platform/config.ts';
import { createLogger } from '../../../src/platform/logging.ts';
import { signerWorker } from '../../../src/platform/roles/signer.ts';
import { type X402WorkerDeps, x402Worker } from '../../../src/platform/roles/x402.ts';
import { type GatewayParts, serveGateway } from '../../../src/platform/roles/x402-gateway.ts';
import { Closers } from '../../../src/platform/shutdown.ts';
import { Chain } from '../../../src/solana/chain.ts';
import { openNodePool } from '../../../src/solana/rpc/pool.ts';
import { bodyOf, startHttp } from '../../support/http.ts';
import { intercept } from '../../support/intercept.ts';
import { freshNamespace } from '../../support/namespace.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { temporalClient } from '../../support/temporal.ts';

/** A request as the upstream received it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The answer of the upstream; by default 200 with its number of calls. */
export type UpstreamHandler = (
  asked: ReceivedRequest,
  count: number,
) => {
  readonly status: number;
  /** Parts are sent one by one, the head before the first of them. */
  readonly body: string | Uint8Array | AsyncIterable<string>;
  readonly headers?: Record<string, string>;
};

/** The entries of a routes file; `upstream` is the URL of the shop's upstream. */
type Routes = (upstream: string) => readonly object[];

/** Starts a gateway with these routes, which pay this wallet; returns its URL. */
type Serve = (routes: Routes, payTo: string, closers: Closers) => Promise<string>;

/** Writes the routes file; returns its content. */
type WriteRoutes = (routes: Routes, payTo: string) => object;

const QUICK_CHAIN: LocalnetOptions = { slotMs: 50, finalityLag: 8, nodes: 1 };
const FEE_PAYER_LAMPORTS = 5_000_000_000n;
const BUYER_UNITS = 1_000_000_000n;

/** Payments are late after two seconds, which is longer than they take to be final on the quick chain. */
export function soonLate(deps: X402WorkerDeps): X402WorkerDeps {
  return { ...deps, latePaymentMs: 2_000 };
}

/** A gateway with its worker, on a chain of one node, in front of an upstream that records its requests. */
export class Shop {
  readonly url: string;
  readonly localnet: Localnet;
  readonly ledger: Ledger;
  readonly temporal: Client;
  /** The wallet of the seller. */
  readonly seller: string;
  readonly feePayer: string;
  readonly asked: ReceivedRequest[] = [];
  upstream: UpstreamHandler = (_asked, count) => ({ status: 200, body: JSON.stringify({ count }) });
  /** Gets the target of each request when its headers have reached the upstream. */
  arrives: ((target: string) => void) | null = null;
  /** The upstream does not answer until it resolves. */
  hold: (() => Promise<void>) | null = null;
  readonly #closers: Closers;
  readonly #serve: Serve;
  readonly #write: WriteRoutes;
  #gateway: Closers;

  private constructor(
    parts: Pick<Shop, 'url' | 'localnet' | 'ledger' | 'temporal' | 'feePayer' | 'seller'>,
    closers: Closers,
    serve: Serve,
    write: WriteRoutes,
    gateway: Closers,
  ) {
    this.seller = parts.seller;
    this.url = parts.url;
    this.localnet = parts.localnet;
    this.ledger = parts.ledger;
    this.temporal = parts.temporal;
    this.feePayer = parts.feePayer;
    this.#closers = closers;
    this.#serve = serve;
    this.#write = write;
    this.#gateway = gateway;
  }

  get rpcUrl(): string {
    return this.localnet.rpcUrls[0] ?? '';
  }

  /** Resolves when the gateway sells the route: the accounts that it needs on the chain are final then. */
  async opened(path: string): Promise<void> {
    const isSold = async () => expect((await fetch(this.url + path)).status).toBe(402);
    await vi.waitFor(isSold, { timeout: 20_000, interval: 100 });
  }

  /** Stops the gateway, and starts another one at its address with these routes. `meanwhile` runs when neither is up. */
  async reopen(routes: Routes, payTo = this.seller, meanwhile?: () => Promise<unknown>): Promise<void> {
    await this.#gateway.close();
    await meanwhile?.();
    this.#gateway = new Closers();
    await this.#serve(routes, payTo, this.#gateway);
  }

  /** Writes these routes into the routes file, and sends SIGHUP to the gateway. Returns the content of the file. */
  reload(routes: Routes, payTo = this.seller): object {
    const content = this.#write(routes, payTo);
    process.emit('SIGHUP', 'SIGHUP');
    return content;
  }

  /** Sends a request and cuts it off while the upstream holds it. The lease ends, as it would if the gateway had stopped. */
  async abandon(url: string, init: RequestInit): Promise<void> {
    this.hold = () => new Promise(() => undefined);
    const abort = new AbortController();
    const cut = fetch(url, { ...init, signal: abort.signal }).catch(() => null);
    await vi.waitFor(() => expect(this.asked).toHaveLength(1), 20_000);
    abort.abort();
    await cut;
    this.hold = null;
    const leaseUntil = sql<Date>`now() - interval '1 second'`;
    await this.ledger.db
      .updateTable('payment')
      .set({ leaseUntil })
      .where('leaseHolder', 'is not', null)
      .execute();
  }

  async close(): Promise<void> {
    await this.#gateway.close();
    await this.#closers.close();
  }

  /** A wallet with tokens and SOL. */
  async buyer(units = BUYER_UNITS): Promise<{
    readonly rpcUrl: string;
    readonly secretKey: Uint8Array;
    readonly address: string;
  }> {
    const keypair = Keypair.generate();
    const address = keypair.publicKey.toBase58();
    const { localnet } = this;
    await Promise.all([
      localnet.airdrop(address, 1_000_000_000n),
      localnet.mintTo(localnet.plantedMint.address, address, units),
    ]);
    return { rpcUrl: this.rpcUrl, secretKey: keypair.secretKey, address };
  }

  static async open(
    routes: Routes,
    env: Readonly<Record<string, string>> = {},
    localnetOptions: LocalnetOptions = QUICK_CHAIN,
    keysAt: 'x402' | 'signer' = 'x402',
    changes: Pick<GatewayParts, 'answerWithinMs' | 'metrics' | 'replaceUpstream'> & {
      /** Wraps what the x402 worker uses. */
      readonly decorate?: (deps: X402WorkerDeps) => X402WorkerDeps;
    } = {},
  ): Promise<Shop> {
    const closers = new Closers();
    const dir = mkdtempSync(join(tmpdir(), 'shop-'));
    closers.add('folder', () => rmSync(dir, { recursive: true }));
    const localnet = await startLocalnet(localnetOptions);
    closers.add('chain', () => localnet.close());
    const database = await freshDatabase();
    closers.add('database', () => database.drop());
    const place = await freshNamespace('shop');
    const ledger = await openLedger(database.url);
    closers.add('ledger', () => ledger.close());
    const feePayer = Keypair.generate();
    const later: { shop?: Shop } = {};
    const upstream = await startHttp(async (request, response) => {
      const { method = '', url = '', headers } = request;
      later.shop?.arrives?.(url);
      const asked = { method, target: url, headers, body: (await bodyOf(request)).toString() };
      const { shop } = later;
      shop?.asked.push(asked);
      const position = shop?.asked.length ?? 0;
      await shop?.hold?.();
      const answer = shop?.upstream(asked, position) ?? { status: 500, body: 'too early' };
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
      if (typeof answer.body === 'string' || answer.body instanceof Uint8Array)
        return void response.end(answer.body);
      response.flushHeaders();
      for await (const part of answer.body) response.write(part);
      response.end();
    });
    closers.add('upstream', () => upstream.close());
    const seller = Keypair.generate().publicKey.toBase58();
    await Promise.all([
      localnet.airdrop(feePayer.publicKey.toBase58(), FEE_PAYER_LAMPORTS),
      localnet.mintTo(localnet.plantedMint.address, seller, 1n),
    ]);
    const keyFile = join(dir, 'fee-payer.json');
    writeFileSync(keyFile, JSON.stringify([...feePayer.secretKey]));
    const routesFile = join(dir, 'x402.routes.json');
    const settings = {
      ...place.env,
      DATABASE_URL: database.url,
      SLUICE_RPC_URLS: localnet.rpcUrls.join(','),
      SLUICE_FEE_PAYERS: feePayer.publicKey.toBase58(),
      SLUICE_X402_ROUTES: routesFile,
      SLUICE_X402_PORT: String(await freePort()),
      SLUICE_X402_QUOTE_SECRET: 'a secret of at least 32 characters',
      SLUICE_X402_FACILITATOR_OPEN: 'true',
      SLUICE_X402_SOCKET: join(dir, 'x402.sock'),
      ...env,
    };
    const connection = await NativeConnection.connect({ address: place.address });
    closers.add('connection', () => connection.close());
    const keys = { SLUICE_FEE_PAYER_KEY_FILES: keyFile };
    const own = keysAt === 'x402' ? keys : {};
    const { decorate, ...gatewayChanges } = changes;
    run(
      await x402Worker(readConfig({ ...settings, ...own }, 'x402'), connection, closers, decorate),
      closers,
    );
    const hot = { SLUICE_SIGNER_KEY: JSON.stringify([...Keypair.generate().secretKey]) };
    if (keysAt === 'signer')
      run(await signerWorker(readConfig({ ...settings, ...keys, ...hot }, 'signer'), connection), closers);
    const temporal = temporalClient(place);
    const pool = await openNodePool(localnet.rpcUrls);
    closers.add('nodes', () => pool.close());
    const config = readConfig(settings, 'api');
    const logger = createLogger({ level: 'silent', name: 'gateway' });
    const write: WriteRoutes = (sold, payTo) => {
      const content = { payTo, routes: sold(upstream.url) };
      writeFileSync(routesFile, JSON.stringify(content));
      return content;
    };
    const serve: Serve = (sold, payTo, servedClosers) => {
      write(sold, payTo);
      const chain = new Chain(pool);
      const parts = {
        ledger: withEndingOffers(ledger, servedClosers),
        temporal,
        chain,
        logger,
        closers: servedClosers,
        ...gatewayChanges,
      };
      return serveGateway({ ...config, x402Routes: routesFile }, parts);
    };
    const gateway = new Closers();
    const url = await serve(routes, seller, gateway);
    const parts = { url, localnet, ledger, temporal, seller, feePayer: feePayer.publicKey.toBase58() };
    later.shop = new Shop(parts, closers, serve, write, gateway);
    return later.shop;
  }
}

/** A check of the terms that runs while its gateway ends would mark them as still offered, after the test made them old. */
function withEndingOffers(ledger: Ledger, closers: Closers): Ledger {
  let isOver = false;
  let openOffers = 0;
  const offers = intercept(ledger.offers, 'offers', (side, call) => {
    if (call !== 'offers.offer') return;
    if (side === 'before' && isOver) throw new Error('the gateway has ended');
    openOffers += side === 'before' ? 1 : -1;
  });
  closers.add('offers in progress', async () => {
    isOver = true;
    await vi.waitFor(() => expect(openOffers).toBe(0), 20_000);
  });
  return { ...ledger, offers };
}

function run(worker: Worker, closers: Closers): void {
  const running = worker.run();
  closers.add('worker', async () => {
    worker.shutdown();
    await running;
  });
}

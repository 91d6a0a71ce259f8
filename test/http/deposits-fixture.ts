import type { FastifyInstance } from 'fastify';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { DepositKeys } from '../../src/deposits/addresses/hd-keys.ts';
import { type AppDeps, buildApp } from '../../src/http/app.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Chain } from '../../src/solana/chain.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { quickChain } from '../support/quick-chain.ts';
import { authorization, EXPLORER, openService, type Service } from './service.ts';

/** The API with a chain of two nodes whose blocks are made by hand, and the offline keys of its deposit addresses. */
export class DepositsApi {
  readonly service: Service;
  readonly localnet: Localnet;
  readonly keys = new DepositKeys(new Uint8Array(64).fill(3));
  readonly app: FastifyInstance;
  readonly chain: () => Promise<Chain>;
  readonly #pool: NodePool;
  readonly #apps: FastifyInstance[] = [];

  private constructor(
    service: Service,
    localnet: Localnet,
    pool: NodePool,
    app: FastifyInstance,
    chain: () => Promise<Chain>,
  ) {
    this.service = service;
    this.localnet = localnet;
    this.#pool = pool;
    this.app = app;
    this.chain = chain;
  }

  static async open(changes: Partial<AppDeps> = {}): Promise<DepositsApi> {
    const [service, localnet] = await Promise.all([
      openService(),
      startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 2 }),
    ]);
    const pool = await openNodePool(localnet.rpcUrls);
    const { ledger, temporal } = service;
    const opened = quickChain(pool);
    const chain = async () => opened;
    const app = await buildApp({
      ledger,
      temporal,
      explorer: EXPLORER,
      chain,
      addresses: { lowWater: 2 },
      ...changes,
    });
    return new DepositsApi(service, localnet, pool, app, chain);
  }

  get ledger(): Ledger {
    return this.service.ledger;
  }

  /** Another API on the same database, without nodes unless `changes` name them. */
  async also(changes: Partial<AppDeps>): Promise<FastifyInstance> {
    const { ledger, temporal } = this.service;
    const app = await buildApp({ ledger, temporal, explorer: EXPLORER, ...changes });
    this.#apps.push(app);
    return app;
  }

  /** The body of an answer, and its status. */
  async call(method: 'GET' | 'POST' | 'PUT', url: string, payload?: object, app = this.app) {
    const answer = await app.inject({
      method,
      url,
      headers: { authorization },
      ...(payload === undefined ? {} : { payload }),
    });
    return { status: answer.statusCode, body: answer.json() };
  }

  /** A manifest of wallets number `first` to `first + count - 1`. */
  manifest(first: number, count: number) {
    return this.keys.manifest(Array.from({ length: count }, (_, at) => this.keys.entry(first + at)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#apps.map((app) => app.close()));
    await this.app.close();
    await this.#pool.close();
    await this.localnet.close();
    await this.service.close();
  }
}

import { afterAll, afterEach, beforeAll } from 'vitest';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import type { HttpServer } from '../support/http.ts';
import { type AnyJson, type ProxyRequest, sendAnswer, startNodeProxy } from '../support/node-proxy.ts';
import type { ScanFixture } from './scan-fixture.ts';

/** Edits or replaces an answer; `params` are those of the request. */
export type Edit = (method: string, params: AnyJson, answer: AnyJson) => unknown;

const HONEST: Edit = (_method, _params, answer) => answer;

/** A node behind a proxy that edits its answers and forwards answers that are not JSON. */
export class LyingProxy {
  edit = HONEST;
  /** The methods of the requests that the proxy received. */
  asked: string[] = [];
  readonly #target: string;
  #server: HttpServer | undefined;

  constructor(target: string) {
    this.#target = target;
  }

  async start(): Promise<string> {
    this.#server = await startNodeProxy(this.#target, (asked) => this.#answer(asked));
    return this.#server.url;
  }

  beHonest(): void {
    this.edit = HONEST;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  async #answer({ method, params, forward, response }: ProxyRequest): Promise<void> {
    this.asked.push(method);
    const answer = await forward();
    if (answer.json === undefined) return sendAnswer(answer, response);
    const edited = JSON.stringify(await this.edit(method, params, answer.json));
    sendAnswer({ ...answer, body: Buffer.from(edited) }, response);
  }
}

/** The unedited answer of the node. */
export async function rpc(url: string, question: AnyJson): Promise<AnyJson> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...question }),
  });
  return answer.json();
}

/** True for a block request with transaction details. */
export function isWholeBlock(method: string, params: AnyJson): boolean {
  return method === 'getBlock' && params[1]?.transactionDetails !== 'signatures';
}

/** Asks each node until the pool knows the fastest. */
export async function probeUntilRanked(pool: NodePool): Promise<void> {
  for (let probes = 0; probes < 4; probes += 1) await pool.probe();
}

/** The first node of the pool was faster than the other two at the newest probe of latency, so it is asked first. */
export async function makeFirstNodeFastest(fixture: ScanFixture, pool: NodePool): Promise<void> {
  const { controls } = fixture.localnet;
  for (const slow of [1, 2]) controls.setFault(slow, 'getSlot', { kind: 'delay', ms: 1_500 });
  await pool.probe();
  for (const slow of [1, 2]) controls.clearFaults(slow);
}

/** A pool of the nodes of a fixture, the first of which lies as `liar.edit` defines, until the end of the test. */
export function useLiar(fixture: ScanFixture): { readonly liar: LyingProxy; readonly pool: NodePool } {
  let opened: { readonly liar: LyingProxy; readonly pool: NodePool } | undefined;
  const use = () => {
    if (opened === undefined) throw new Error('the liar starts before the first test');
    return opened;
  };
  beforeAll(async () => {
    const [first = '', ...others] = fixture.localnet.rpcUrls;
    const liar = new LyingProxy(first);
    opened = { liar, pool: await openNodePool([await liar.start(), ...others]) };
  });
  afterEach(() => use().liar.beHonest());
  afterAll(async () => {
    await opened?.pool.close();
    await opened?.liar.close();
  });
  return {
    get liar() {
      return use().liar;
    },
    get pool() {
      return use().pool;
    },
  };
}

/** A proxy before each node of a fixture, and a pool of them all; each is honest at the beginning of a test. */
export function useProxies(fixture: ScanFixture): {
  readonly proxies: readonly LyingProxy[];
  readonly pool: NodePool;
} {
  let proxies: readonly LyingProxy[] = [];
  let pool: NodePool | undefined;
  beforeAll(async () => {
    proxies = fixture.localnet.rpcUrls.map((url) => new LyingProxy(url));
    pool = await openNodePool(await Promise.all(proxies.map((proxy) => proxy.start())));
  });
  afterEach(() => {
    for (const proxy of proxies) proxy.beHonest();
  });
  afterAll(async () => {
    await pool?.close();
    await Promise.all(proxies.map((proxy) => proxy.close()));
  });
  return {
    get proxies() {
      return proxies;
    },
    get pool() {
      if (pool === undefined) throw new Error('the proxies start before the first test');
      return pool;
    },
  };
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type LocalChain, mintsOf } from '../../devkit/localstack/chain.ts';
import { keypairFile } from '../../devkit/localstack/keypair.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import type { Stack } from '../../devkit/localstack/stack.ts';
import { startValidator } from '../../devkit/localstack/validator.ts';
import type { HttpServer } from '../support/http.ts';
import { sendAnswer, startNodeProxy } from '../support/node-proxy.ts';
import { type TestStack, testStack } from '../support/stack.ts';
import { temporalClient } from '../support/temporal.ts';
import { until } from '../support/until.ts';
import { ChainControls } from './outcomes-support.ts';
import type { UsedStack } from './use-stack.ts';

/** A real validator behind a proxy on loopback, and a stack that is connected only to the proxy. */
interface Running {
  readonly test: TestStack;
  readonly chain: ValidatorControls;
}

/** How long 150 blocks may take on a busy machine. */
const EXPIRY_MS = 300_000;
const BLOCKHASH_LIFE = 150;

/** The proxy drops sends; everything else is the validator's behaviour, at its own speed. */
class ValidatorControls extends ChainControls {
  readonly #mints: Readonly<Record<string, string>>;
  readonly #proxy: SwallowingProxy;

  constructor(stack: Stack, chain: LocalChain, proxy: SwallowingProxy) {
    super(stack);
    this.#mints = mintsOf(chain.info);
    this.#proxy = proxy;
  }

  override mint(name: 'mint' | 'feeMint'): string {
    return this.#mints[name] ?? '';
  }

  override async swallowSends(): Promise<void> {
    this.#proxy.swallows = true;
  }

  override async heal(): Promise<void> {
    this.#proxy.swallows = false;
  }

  /** Waits until every earlier blockhash has expired, finally. */
  override async expireBlockhashes(): Promise<void> {
    const height = (commitment: string) => rpc<number>(this.url, 'getBlockHeight', [{ commitment }]);
    const last = (await height('processed')) + BLOCKHASH_LIFE;
    await until(async () => (await height('finalized')) > last, EXPIRY_MS);
  }
}

/** A node that accepts transactions and drops them while it `swallows`. */
class SwallowingProxy {
  swallows = false;
  #server: HttpServer | undefined;

  async start(target: string): Promise<string> {
    this.#server = await startNodeProxy(target, async ({ id, method, response, forward }) => {
      if (!this.swallows || method !== 'sendTransaction') return sendAnswer(await forward(), response);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: '1'.repeat(64) }));
    });
    return this.#server.url;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }
}

/** As `useStack`, on a real solana-test-validator: one node, so a quorum of one. */
export function useValidator(): UsedStack {
  const closers: (() => unknown)[] = [];
  let running: Running | undefined;
  beforeAll(async () => {
    running = await start(closers);
  });
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  });
  const started = (): Running => {
    if (running === undefined) throw new Error('the stack starts before the first test');
    return running;
  };
  return {
    get stack() {
      return started().test.stack;
    },
    get sluice() {
      return started().test.sluice;
    },
    get chain() {
      return started().chain;
    },
    get temporal() {
      return temporalClient(started().test.stack.temporal);
    },
  };
}

async function start(closers: (() => unknown)[]): Promise<Running> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-validator-test-'));
  closers.push(() => rmSync(dir, { recursive: true, force: true }));
  const key = keypairFile(join(dir, 'hot-wallet.json'));
  const chain = await startValidator({ hotWallet: key.address, stateDir: dir, env: process.env });
  closers.push(() => chain.stop());
  const proxy = new SwallowingProxy();
  const url = await proxy.start(chain.info.rpcUrls[0] ?? '');
  closers.push(() => proxy.close());
  const test = await testStack(0, { SLUICE_RPC_URLS: url, SLUICE_SIGNER_KEY_FILE: key.path });
  closers.push(() => test.close());
  return { test, chain: new ValidatorControls(test.stack, chain, proxy) };
}

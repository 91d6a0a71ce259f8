import { createServer } from 'node:http';
import { SimulatedChain } from './chain/chain.ts';
import { Controls } from './controls.ts';
import {
  createFaucet,
  DECIMALS,
  FEE_BASIS_POINTS,
  fund,
  PLANTED_MINT,
  transferFeeExtension,
} from './genesis.ts';
import { RpcNode } from './node.ts';
import { closeServer, listenOnPair } from './ports.ts';
import { controlMethods } from './rpc/control.ts';
import { methodTable } from './rpc/methods.ts';
import { serveSubscriptions } from './subscriptions.ts';
import type { Wallet } from './wallet.ts';

export interface LocalnetOptions {
  /** RPC port of the first node. Each node takes two ports in a row, for RPC and for subscriptions. 0 picks free ports. */
  readonly port?: number;
  /** Time between blocks; with 0, only {@link Controls.produceSlot} produces them. Default 400. */
  readonly slotMs?: number;
  /** Blocks between processed and finalized, at least 2. Default 32. */
  readonly finalityLag?: number;
  /** Number of nodes, which all serve the same chain. Default 2. */
  readonly nodes?: number;
  /** Also serves the methods that Agave 2.0 removed. */
  readonly legacy?: boolean;
  /** A wallet that starts with 1,000 SOL and a million units of each token. */
  readonly hotWallet?: string;
  readonly funded?: readonly { readonly address: string; readonly lamports: bigint }[];
}

export interface LocalMint {
  readonly address: string;
  readonly decimals: number;
}

export interface Localnet {
  readonly rpcUrls: readonly string[];
  readonly wsUrls: readonly string[];
  readonly mint: LocalMint;
  readonly feeMint: LocalMint;
  /** A mint at the address of devnet's USDC; its mint authority is the faucet. */
  readonly plantedMint: LocalMint;
  readonly controls: Controls;
  readonly airdrop: Controls['airdrop'];
  readonly mintTo: Controls['mintTo'];
  readonly createToken22Mint: Controls['createToken22Mint'];
  close(): Promise<void>;
}

const HOT_WALLET_LAMPORTS = 1_000_000_000_000n;
const HOT_WALLET_TOKENS = 1_000_000_000_000n;
const EXTRA_GENESIS_BLOCKS = 2;

interface Genesis {
  readonly chain: SimulatedChain;
  readonly faucet: Wallet;
  readonly mint: string;
  readonly feeMint: string;
}

function createGenesis(options: LocalnetOptions): Genesis {
  const finalityLag = options.finalityLag ?? 32;
  if (finalityLag < 2) throw new RangeError('finalityLag must be at least 2');
  const chain = new SimulatedChain(finalityLag);
  const faucet = createFaucet(chain);
  const { hotWallet } = options;
  for (const { address, lamports } of options.funded ?? []) fund(chain, address, lamports);
  if (hotWallet) fund(chain, hotWallet, HOT_WALLET_LAMPORTS);
  chain.produce();
  const controls = new Controls(chain, faucet, [], 0);
  const mint = controls.queueMint();
  const feeMint = controls.queueMint([transferFeeExtension(faucet, FEE_BASIS_POINTS)]);
  chain.produce();
  // The private key of this address is not known, so that no transaction can create a mint there; copy one instead.
  chain.vm.setAccount(PLANTED_MINT, chain.vm.account(mint));
  if (hotWallet)
    for (const each of [mint, feeMint, PLANTED_MINT])
      controls.queueMintTo(each, hotWallet, HOT_WALLET_TOKENS);
  for (let block = 0; block < finalityLag + EXTRA_GENESIS_BLOCKS; block += 1) chain.produce();
  return { chain, faucet, mint, feeMint };
}

/** Calls `tick` every `slotMs` milliseconds without drift. A call that is late is not made up for. */
function startClock(slotMs: number, tick: () => void): { stop(): void } {
  let nextAtMs = performance.now() + slotMs;
  let timer: NodeJS.Timeout;
  const run = (): void => {
    tick();
    nextAtMs = Math.max(nextAtMs + slotMs, performance.now());
    timer = setTimeout(run, Math.max(0, nextAtMs - performance.now()));
  };
  timer = setTimeout(run, slotMs);
  return { stop: () => clearTimeout(timer) };
}

export async function startLocalnet(options: LocalnetOptions = {}): Promise<Localnet> {
  const { chain, faucet, mint, feeMint } = createGenesis(options);
  const slotMs = options.slotMs ?? 400;
  const nodes: RpcNode[] = [];
  const controls = new Controls(chain, faucet, nodes, slotMs);
  const chainMethods = methodTable(faucet, options.legacy ?? false);
  const methods = { ...chainMethods, ...controlMethods(controls, chainMethods) };
  for (let index = 0; index < (options.nodes ?? 2); index += 1) nodes.push(new RpcNode(chain, methods));
  const pairs = nodes.map((node) => ({
    node,
    beside: createServer((_request, response) => void response.writeHead(405).end()),
  }));
  const ports: number[] = [];
  for (const [index, { node, beside }] of pairs.entries())
    ports.push(await listenOnPair(node.server, beside, options.port ? options.port + 2 * index : 0));
  const servers = pairs.flatMap(({ node, beside }) =>
    [node.server, beside].map((server) => ({ server, node })),
  );
  const subscriptions = serveSubscriptions(chain, servers);
  const clock = slotMs > 0 ? startClock(slotMs, () => chain.produce()) : null;
  return {
    rpcUrls: ports.map((port) => `http://127.0.0.1:${port}`),
    wsUrls: ports.map((port) => `ws://127.0.0.1:${port + 1}`),
    mint: { address: mint, decimals: DECIMALS },
    feeMint: { address: feeMint, decimals: DECIMALS },
    plantedMint: { address: PLANTED_MINT, decimals: DECIMALS },
    controls,
    airdrop: (address, lamports) => controls.airdrop(address, lamports),
    mintTo: (token, owner, amount) => controls.mintTo(token, owner, amount),
    createToken22Mint: (extensions) => controls.createToken22Mint(extensions),
    close: async () => {
      clock?.stop();
      subscriptions.close();
      await Promise.all(servers.map(({ server }) => closeServer(server)));
    },
  };
}

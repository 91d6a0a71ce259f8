import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { MintTo } from './payer.ts';
import { ManagedProcess } from './process.ts';
import { type CompiledPrograms, nodeProgram } from './program.ts';
import { rpc } from './rpc.ts';

export interface LocalChainOptions extends CompiledPrograms {
  /** Default 400. */
  readonly slotMs?: number;
  /** Number of blocks between processed and finalized. Default 32. */
  readonly finalityLag?: number;
  /** Number of nodes, each on a port of its own. Default 2. */
  readonly nodes?: number;
}

/** The line that the chain printed when it was ready. */
export interface ChainInfo {
  readonly rpcUrls: readonly string[];
  /** The other fields of the line: WebSocket URLs and mints. */
  readonly [key: string]: unknown;
}

/** `localnet`: Sluice's simulated chain, which can inject faults. `validator`: one solana-test-validator. */
export type ChainKind = 'localnet' | 'validator';

export interface LocalChain {
  readonly kind: ChainKind;
  readonly process: ManagedProcess;
  readonly info: ChainInfo;
  readonly mintTo: MintTo;
  stop(): Promise<void>;
}

/** Addresses of the chain's mints by name; empty for null, the chain of `SLUICE_RPC_URLS`. */
export function mintsOf(chain: ChainInfo | null): Readonly<Record<string, string>> {
  const mints: Record<string, string> = {};
  for (const [name, value] of Object.entries(chain ?? {})) {
    if (typeof value === 'object' && value !== null && 'address' in value)
      mints[name] = String(value.address);
  }
  return mints;
}

function readInfo(file: string): ChainInfo | null {
  if (!existsSync(file)) return null;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ChainInfo;
  } catch {
    return null;
  }
}

export async function startChain(
  options: LocalChainOptions & {
    readonly hotWallet: string;
    readonly stateDir: string;
    readonly env: NodeJS.ProcessEnv;
    readonly signal?: AbortSignal;
  },
): Promise<LocalChain> {
  const readyFile = join(options.stateDir, 'localnet.json');
  rmSync(readyFile, { force: true });
  const flags = {
    '--port': 0,
    '--slot-ms': options.slotMs ?? 400,
    '--finality-lag': options.finalityLag ?? 32,
    '--nodes': options.nodes ?? 2,
    '--hot-wallet': options.hotWallet,
    '--ready-file': readyFile,
  };
  const chain = new ManagedProcess({
    name: 'localnet',
    ...nodeProgram(
      new URL('../localnet/main.ts', import.meta.url),
      Object.entries(flags).flatMap(([flag, value]) => [flag, String(value)]),
      { compiledIn: options.compiledIn },
    ),
    env: options.env,
    logFile: join(options.stateDir, 'logs', 'localnet.log'),
    ready: async () => readInfo(readyFile) !== null,
  });
  await chain.start(options.signal);
  const info = readInfo(readyFile);
  if (info === null) throw new Error(`localnet is ready, but ${readyFile} is missing`);
  rmSync(readyFile);
  const [url = ''] = info.rpcUrls;
  return {
    kind: 'localnet',
    process: chain,
    info,
    mintTo: ({ mint }, owner, units) => rpc(url, 'localnet_mintTo', [mint, owner, units.toString()]),
    stop: () => chain.stop(),
  };
}

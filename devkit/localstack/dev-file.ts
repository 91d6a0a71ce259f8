import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { mintsOf } from './chain.ts';
import type { Stack } from './stack.ts';
import { depositsInUi, withdrawalsInUi } from './temporal.ts';

export interface DevSetUp {
  /** Paths of the manifest of the imported deposit addresses and of their mnemonic; null if no addresses were imported. */
  readonly deposits: { readonly manifestFile: string; readonly mnemonicFile: string } | null;
  /** Whether webhook URLs may have loopback and private addresses. */
  readonly webhooksToPrivate: boolean;
}

/** Values that `npm run dev` prints, and writes to a file for other programs. For key files, only the paths. */
export interface DevFacts extends DevSetUp {
  readonly apiUrl: string;
  readonly openapiUrl: string;
  readonly apiKey: string;
  /** The `actor` that is recorded for requests with this key. */
  readonly apiKeyName: string;
  readonly temporalUi: string | null;
  readonly temporalUiDeposits: string | null;
  /** Why the Web UI's address can be wrong; null if it is certain. */
  readonly temporalUiNote: string | null;
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
  readonly databaseUrl: string;
  readonly rpcUrls: readonly string[];
  readonly hotWallet: string;
  readonly signerKeyFile: string;
  /** Mint addresses by name; empty on a chain of `SLUICE_RPC_URLS`. */
  readonly mints: Readonly<Record<string, string>>;
  /** Values that the started chain reported; null on a chain of `SLUICE_RPC_URLS`. */
  readonly chain: Stack['chainInfo'];
  /** The x402 gateway; null if nothing is sold. Buyer, seller and asset are null if the routes file is the developer's. */
  readonly sales: {
    readonly gatewayUrl: string;
    readonly routesFile: string;
    readonly feePayer: string;
    readonly buyerKeyFile: string | null;
    readonly seller: string | null;
    readonly asset: string | null;
  } | null;
  readonly logs: string;
}

export function devFacts(stack: Stack, { deposits, webhooksToPrivate }: DevSetUp): DevFacts {
  return {
    apiUrl: stack.apiUrl,
    openapiUrl: `${stack.apiUrl}/openapi.json`,
    apiKey: stack.apiKey,
    apiKeyName: stack.apiKeyName,
    temporalUi: withdrawalsInUi(stack.temporal),
    temporalUiDeposits: depositsInUi(stack.temporal),
    temporalUiNote: stack.temporal.uiNote,
    temporalAddress: stack.temporal.address,
    temporalNamespace: stack.temporal.namespace,
    databaseUrl: stack.databaseUrl,
    rpcUrls: stack.rpcUrls,
    hotWallet: stack.hotWallet,
    signerKeyFile: resolve(stack.signerKeyFile),
    deposits: deposits && {
      manifestFile: resolve(deposits.manifestFile),
      mnemonicFile: resolve(deposits.mnemonicFile),
    },
    webhooksToPrivate,
    mints: mintsOf(stack.chainInfo),
    chain: stack.chainInfo,
    sales: salesFacts(stack),
    logs: stack.logDir,
  };
}

function salesFacts({ gateway, sales }: Stack): DevFacts['sales'] {
  if (gateway === null) return null;
  const { gatewayUrl, routesFile, feePayer } = gateway;
  return {
    gatewayUrl,
    routesFile: resolve(routesFile),
    feePayer,
    buyerKeyFile: sales && resolve(sales.buyer.path),
    seller: sales?.seller ?? null,
    asset: sales?.asset ?? null,
  };
}

/** Writes `facts` to `path`, readable by the owner only. The returned function deletes the file. */
export function writeDevFile(facts: DevFacts, path: string): () => void {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  return () => rmSync(path, { force: true });
}

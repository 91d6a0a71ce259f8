import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOKEN_PROGRAM_ID } from '../../src/shims/spl-token.ts';
import { type LocalChain, mintsOf } from './chain.ts';
import { type KeypairFile, keypairFile, readOrCreateFile } from './keypair.ts';
import { freePort } from './ports.ts';
import { lamportsOf, rpc } from './rpc.ts';

export type RoutesOf = (facts: {
  readonly seller: string;
  readonly asset: string;
  readonly apiUrl: string;
}) => object;

/** The x402 gateway of a development stack, with its buyer. For key files, only the paths. */
export interface Sales {
  readonly gatewayUrl: string;
  readonly routesFile: string;
  readonly asset: string;
  readonly seller: string;
  readonly feePayer: string;
  readonly buyer: KeypairFile;
  readonly env: NodeJS.ProcessEnv;
  readonly keys: NodeJS.ProcessEnv;
}

export interface SalesOptions {
  readonly routesOf: RoutesOf;
  readonly port?: number;
}

const FEE_PAYER_LAMPORTS = 10_000_000_000;
const BUYER_LAMPORTS = 1_000_000_000;
const BUYER_UNITS = 1_000_000_000n;
const POLL_MS = 100;
/** Limit of the setting. */
const MAX_SOCKET_PATH_BYTES = 91;

/** Creates the wallets of a seller, a buyer and a fee payer, funds them on the chain, and writes the routes file. */
export async function prepareSales(
  { routesOf, port }: SalesOptions,
  chain: LocalChain,
  dir: string,
  apiUrl: string,
): Promise<Sales> {
  const key = (name: string) => keypairFile(join(dir, 'keys', `${name}.json`));
  const [seller, buyer, feePayer] = [key('seller'), key('buyer'), key('fee-payer-1')];
  const asset = assetOf(chain);
  await fund(chain, asset, { seller, buyer, feePayer });
  const routesFile = join(dir, 'x402.routes.json');
  mkdirSync(dir, { recursive: true });
  const routes = routesOf({ seller: seller.address, asset: asset.mint, apiUrl });
  writeFileSync(routesFile, `${JSON.stringify(routes, null, 2)}\n`);
  const gatewayPort = port ?? (await freePort());
  return {
    gatewayUrl: `http://127.0.0.1:${gatewayPort}`,
    routesFile,
    asset: asset.mint,
    seller: seller.address,
    feePayer: feePayer.address,
    buyer,
    env: {
      SLUICE_X402_ROUTES: routesFile,
      SLUICE_X402_PORT: String(gatewayPort),
      SLUICE_X402_QUOTE_SECRET: readOrCreateFile(join(dir, 'keys', 'quote-secret'), newSecret).trim(),
      SLUICE_FEE_PAYERS: feePayer.address,
      ...socketIn(dir),
    },
    keys: { SLUICE_FEE_PAYER_KEY_FILES: feePayer.path },
  };
}

/** Without a socket, workflows settle all payments. A path of a socket must be short, and on Windows there is none. */
function socketIn(dir: string): NodeJS.ProcessEnv {
  const socket = join(dir, 'x402.sock');
  return socket.startsWith('/') && Buffer.byteLength(socket) <= MAX_SOCKET_PATH_BYTES
    ? { SLUICE_X402_SOCKET: socket }
    : {};
}

function newSecret(): string {
  return `${randomBytes(32).toString('hex')}\n`;
}

/** The planted mint, which official clients pay with by default; else the chain's other mint. */
function assetOf({ info }: LocalChain): { readonly mint: string; readonly program: string } {
  const { plantedMint, mint } = mintsOf(info);
  const address = plantedMint ?? mint;
  if (address === undefined)
    throw new Error('the development chain has no mint, so that nothing can be sold');
  return { mint: address, program: TOKEN_PROGRAM_ID.toBase58() };
}

async function fund(
  { info, mintTo }: LocalChain,
  asset: { readonly mint: string; readonly program: string },
  { seller, buyer, feePayer }: Record<'seller' | 'buyer' | 'feePayer', KeypairFile>,
): Promise<void> {
  const [url = ''] = info.rpcUrls;
  await rpc(url, 'requestAirdrop', [feePayer.address, FEE_PAYER_LAMPORTS]);
  await rpc(url, 'requestAirdrop', [buyer.address, BUYER_LAMPORTS]);
  // One unit creates the seller's token account.
  await mintTo(asset, seller.address, 1n);
  await mintTo(asset, buyer.address, BUYER_UNITS);
  while ((await lamportsOf(url, feePayer.address, 'confirmed')) < FEE_PAYER_LAMPORTS) await sleep(POLL_MS);
}

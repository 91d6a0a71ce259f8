import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { TOKEN_PROGRAM_ID } from '../../src/shims/spl-token.ts';
import { mintsOf } from './chain.ts';
import { type KeypairFile, keypairFile, readOrCreateFile } from './keypair.ts';
import { fundFeePayer, hasSol, type SalesChain } from './own-chain.ts';
import { freePort } from './ports.ts';

export type RoutesOf = (facts: {
  readonly seller: string;
  readonly asset: string;
  readonly apiUrl: string;
}) => object;

/** The x402 gateway of a development stack. For key files, only the paths. */
export interface Gateway {
  readonly gatewayUrl: string;
  readonly routesFile: string;
  /** Addresses, separated by commas. */
  readonly feePayer: string;
  readonly env: NodeJS.ProcessEnv;
  readonly keys: NodeJS.ProcessEnv;
}

/** A gateway with routes of the stack, and a buyer. */
export interface Sales extends Gateway {
  readonly asset: string;
  readonly seller: string;
  readonly buyer: KeypairFile;
}

export interface SalesOptions {
  readonly routesOf: RoutesOf;
  readonly port?: number;
  /** Routes file to use, in place of `routesOf`. */
  readonly routesFile?: string;
}

const BUYER_UNITS = 1_000_000_000n;
/** Limit of the setting. */
const MAX_SOCKET_PATH_BYTES = 91;

/** Creates the wallets of a seller, a buyer and a fee payer, funds them on the chain, and writes the routes file. */
export async function prepareSales(
  { routesOf, port }: SalesOptions,
  chain: SalesChain,
  dir: string,
  apiUrl: string,
  say: (line: string) => void = () => undefined,
): Promise<Sales> {
  const key = (name: string) => keypairFile(join(dir, 'keys', `${name}.json`));
  const [seller, buyer, feePayer] = [key('seller'), key('buyer'), key('fee-payer-1')];
  const asset = assetOf(chain);
  const [url = ''] = chain.info.rpcUrls;
  await Promise.all([fundFeePayer(url, feePayer.address, say), hasSol(url, buyer.address)]);
  // One unit creates the seller's token account.
  await chain.mintTo(asset, seller.address, 1n);
  await chain.mintTo(asset, buyer.address, BUYER_UNITS);
  const routesFile = join(dir, 'x402.routes.json');
  mkdirSync(dir, { recursive: true });
  const routes = routesOf({ seller: seller.address, asset: asset.mint, apiUrl });
  writeFileSync(routesFile, `${JSON.stringify(routes, null, 2)}\n`);
  const common = await gatewayOf(routesFile, port, [feePayer], dir);
  return { ...common, asset: asset.mint, seller: seller.address, buyer };
}

/** The gateway for a routes file that exists. Its fee payers are those of the setting, or a new one. */
export async function gatewayOfFile(
  { port, routesFile }: { readonly port?: number | undefined; readonly routesFile: string },
  rpcUrl: string,
  dir: string,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<Gateway> {
  const given = (env.SLUICE_FEE_PAYER_KEY_FILES ?? '').split(',').filter((path) => path.trim() !== '');
  const paths = given.length > 0 ? given.map((path) => path.trim()) : [join(dir, 'keys', 'fee-payer-1.json')];
  const feePayers = paths.map(keypairFile);
  for (const { address } of feePayers) await fundFeePayer(rpcUrl, address, say);
  return gatewayOf(resolve(routesFile), port, feePayers, dir, env);
}

async function gatewayOf(
  routesFile: string,
  port: number | undefined,
  feePayers: readonly KeypairFile[],
  dir: string,
  { SLUICE_X402_QUOTE_SECRET: secret }: NodeJS.ProcessEnv = {},
): Promise<Gateway> {
  const gatewayPort = port ?? (await freePort());
  const addresses = feePayers.map(({ address }) => address).join(',');
  return {
    gatewayUrl: `http://127.0.0.1:${gatewayPort}`,
    routesFile,
    feePayer: addresses,
    env: {
      SLUICE_X402_ROUTES: routesFile,
      SLUICE_X402_PORT: String(gatewayPort),
      SLUICE_X402_QUOTE_SECRET:
        secret || readOrCreateFile(join(dir, 'keys', 'quote-secret'), newSecret).trim(),
      SLUICE_FEE_PAYERS: addresses,
      ...socketIn(dir),
    },
    keys: { SLUICE_FEE_PAYER_KEY_FILES: feePayers.map(({ path }) => path).join(',') },
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
function assetOf({ info }: SalesChain): { readonly mint: string; readonly program: string } {
  const { plantedMint, mint } = mintsOf(info);
  const address = plantedMint ?? mint;
  if (address === undefined)
    throw new Error('the development chain has no mint, so that nothing can be sold');
  return { mint: address, program: TOKEN_PROGRAM_ID.toBase58() };
}

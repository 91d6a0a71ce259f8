import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalChain } from './chain.ts';
import { DECIMALS, Payer, slotOf, type Token } from './payer.ts';
import { freePort } from './ports.ts';
import { ManagedProcess } from './process.ts';
import { rpc } from './rpc.ts';

const BINARY = 'solana-test-validator';
/** The same as on localnet. The demo reads balances as JSON numbers, which are exact up to 2^53. */
const HOT_WALLET_LAMPORTS = 1_000_000_000_000n;
const HOT_WALLET_TOKENS = 1_000_000_000_000n;
const AUTHORITY_LAMPORTS = 10_000_000_000n;
/** More shreds than in a day, because the demo reads all blocks from genesis. */
const MAX_LEDGER_SHREDS = '50000000';
const POLL_MS = 200;
const FINALITY_TIMEOUT_MS = 120_000;

interface ValidatorOptions {
  readonly hotWallet: string;
  readonly stateDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

/**
 * Starts `solana-test-validator` from PATH with a temporary ledger, which `stop` deletes, and creates two mints. Resolves when the mints
 * are finalized. Throws, with instructions, if the program is not on PATH.
 */
export async function startValidator(options: ValidatorOptions): Promise<LocalChain> {
  const command = findValidator(options.env);
  const ledger = mkdtempSync(join(tmpdir(), 'sluice-validator-'));
  const port = await freePortPair();
  const faucetPort = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const validator = validatorProcess(command, { ledger, port, faucetPort }, options);
  const stop = async (): Promise<void> => {
    await validator.stop();
    rmSync(ledger, { recursive: true, force: true });
  };
  try {
    await validator.start(options.signal);
    const authority = new Payer(url);
    const { mint, feeMint } = await createMints(url, authority, options);
    const describeMint = ({ mint: address }: Token) => ({ address, decimals: DECIMALS });
    return {
      kind: 'validator',
      process: validator,
      info: {
        rpcUrls: [url],
        wsUrls: [`ws://127.0.0.1:${port + 1}`],
        mint: describeMint(mint),
        feeMint: describeMint(feeMint),
      },
      mintTo: async (token, owner, units) =>
        void (await authority.send(authority.mintTo(token, owner, units))),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

export function findValidator({ PATH = '' }: NodeJS.ProcessEnv): string {
  const found = PATH.split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, BINARY))
    .find(isExecutable);
  if (found !== undefined) return found;
  throw new Error(
    `${BINARY} is not on PATH: install the Solana CLI tools of Agave, put the folder of ${BINARY} on PATH, or use the default, --chain localnet`,
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A free RPC port whose next port is free, too: the validator opens its WebSocket there. */
async function freePortPair(): Promise<number> {
  let first = await freePort();
  for (;;) {
    const second = await freePort();
    if (second === first + 1) return first;
    first = second;
  }
}

function validatorProcess(
  command: string,
  {
    ledger,
    port,
    faucetPort,
  }: { readonly ledger: string; readonly port: number; readonly faucetPort: number },
  { env, stateDir }: ValidatorOptions,
): ManagedProcess {
  return new ManagedProcess({
    name: BINARY,
    command,
    args: Object.entries({
      '--ledger': ledger,
      '--bind-address': '127.0.0.1',
      '--rpc-port': String(port),
      '--faucet-port': String(faucetPort),
      '--limit-ledger-size': MAX_LEDGER_SHREDS,
    })
      .flat()
      .concat('--quiet'),
    env,
    logFile: join(stateDir, 'logs', 'validator.log'),
    ready: async () =>
      (await rpc<number>(`http://127.0.0.1:${port}`, 'getBlockHeight', []).catch(() => 0)) > 0,
  });
}

/**
 * Creates the mints of localnet, except the planted one, whose private key is not known. Gives the hot wallet SOL and tokens.
 * Resolves when all of this is finalized.
 */
async function createMints(
  url: string,
  authority: Payer,
  { hotWallet, signal }: ValidatorOptions,
): Promise<{ readonly mint: Token; readonly feeMint: Token }> {
  await rpc(url, 'requestAirdrop', [hotWallet, Number(HOT_WALLET_LAMPORTS)]);
  await authority.fund(AUTHORITY_LAMPORTS);
  const [plain, withFee] = [authority.newMint(), authority.newFeeMint()];
  await authority.send(plain);
  await authority.send(withFee);
  const [mint, feeMint] = [plain.token, withFee.token];
  const grants = [mint, feeMint].map((token) => authority.mintTo(token, hotWallet, HOT_WALLET_TOKENS));
  const last = await slotOf(url, await authority.send(...grants));
  const end = Date.now() + FINALITY_TIMEOUT_MS;
  while ((await rpc<number>(url, 'getSlot', [{ commitment: 'finalized' }])) < (last ?? Infinity)) {
    if (Date.now() > end)
      throw new Error(`${BINARY} did not finalize the mints within ${FINALITY_TIMEOUT_MS} ms`);
    await sleep(POLL_MS, undefined, { signal });
  }
  return { mint, feeMint };
}

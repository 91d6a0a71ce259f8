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
/** As much as localnet gives. Balances of this size are exact as JSON numbers, by which the judges of the demo read them. */
const HOT_WALLET_LAMPORTS = 1_000_000_000_000n;
const HOT_WALLET_TOKENS = 1_000_000_000_000n;
const AUTHORITY_LAMPORTS = 10_000_000_000n;
/** So many shreds that no block of a day is thrown away: the judges count from the first one. */
const KEPT_SHREDS = '50000000';
const LOOK_MS = 200;
const FINAL_WITHIN_MS = 120_000;

interface ValidatorOptions {
  readonly hotWallet: string;
  readonly stateDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

/**
 * Starts a real `solana-test-validator` of PATH with a ledger in a temporary folder, which goes when it stops, and makes two mints there
 * by ordinary transactions. Resolves when all that is final. Throws, with what to do, where PATH has none.
 */
export async function startValidator(options: ValidatorOptions): Promise<LocalChain> {
  const command = findValidator(options.env);
  const ledger = mkdtempSync(join(tmpdir(), 'sluice-validator-'));
  const port = await freePair();
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
    const { mint, feeMint } = await makeMints(url, authority, options);
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

/** The RPC port: the next one is that of the websocket, which the validator opens by itself. */
async function freePair(): Promise<number> {
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
      '--limit-ledger-size': KEPT_SHREDS,
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
 * The mints of localnet, but for the planted one, which no transaction can make; and SOL and tokens for the hot wallet. Resolves when all
 * of it is final.
 */
async function makeMints(
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
  const end = Date.now() + FINAL_WITHIN_MS;
  while ((await rpc<number>(url, 'getSlot', [{ commitment: 'finalized' }])) < (last ?? Infinity)) {
    if (Date.now() > end) throw new Error(`${BINARY}: its mints are not final after ${FINAL_WITHIN_MS} ms`);
    await sleep(LOOK_MS, undefined, { signal });
  }
  return { mint, feeMint };
}

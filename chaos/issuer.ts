import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../devkit/localnet/faults.ts';
import { rpc } from '../devkit/localstack/rpc.ts';
import { deriveAta } from '../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../src/solana/tx/programs.ts';
import type { Heal } from './heal.ts';
import type { ChaosMarket } from './wanted.ts';

export interface Issued {
  readonly rpcUrls: readonly string[];
  readonly hotWallet: string;
  readonly market: ChaosMarket;
}

/** A way in which an issuer stops the payments of a token. */
interface IssuerStop {
  /** The hot wallet's token account. */
  readonly account: string;
  readonly set: (stopped: boolean) => Promise<unknown>;
  /** As the newest block of a commitment shows it. */
  readonly isStopped: (commitment: 'processed' | 'finalized') => Promise<boolean>;
}

const LOOK_EVERY_MS = 100;
/** On a busy machine a payment that was asked for at the start is signed so much later, at most. */
const SIGNED_WITHIN_MS = 30_000;
/** Its transaction is sent again, and then fails, so much later than the end of the fault, at most. */
const FAILED_WITHIN_MS = 15_000;
/** Errors of the token programs: the account is frozen, the mint is paused. */
const STOPPED = /"Custom":(17|67)\b/;
const DROP: Fault = { kind: 'drop-send' };

/**
 * The issuers freeze the hot wallet's account of one token and pause the mint of another, between the signature of a payment and its
 * landing: all nodes drop sends until then. The answer of the heal, which thaws and resumes, is how many transactions failed on chain.
 */
export async function stopTokens(issued: Issued): Promise<Heal> {
  const { rpcUrls, market } = issued;
  const [url = ''] = rpcUrls;
  const stops = [freeze(issued, market.mint), pause(issued, market.pausableMint)];
  const before = await failed(url, stops);
  const onSends = (method: string, ...fault: Fault[]) =>
    Promise.all(rpcUrls.map((_, node) => rpc(url, method, [node, 'sendTransaction', ...fault])));
  await onSends('localnet_setFault', DROP);
  try {
    await Promise.all(stops.map(({ account }) => untilSigned(url, account)));
    await Promise.all(stops.map((stop) => setUntil(stop, true, 'processed')));
  } finally {
    await onSends('localnet_clearFaults');
  }
  return async () => {
    const end = performance.now() + FAILED_WITHIN_MS;
    while (performance.now() < end && (await failed(url, stops)) === before) await sleep(LOOK_EVERY_MS);
    await Promise.all(stops.map((stop) => setUntil(stop, false, 'finalized')));
    return (await failed(url, stops)) - before;
  };
}

function freeze({ rpcUrls: [url = ''], hotWallet }: Issued, mint: string): IssuerStop {
  const account = deriveAta(hotWallet, mint, TOKEN_PROGRAM);
  return {
    account,
    set: (stopped) => rpc(url, 'localnet_setFrozen', [mint, hotWallet, stopped]),
    isStopped: async (commitment) => (await parsed(url, account, commitment)).state === 'frozen',
  };
}

function pause({ rpcUrls: [url = ''], hotWallet }: Issued, mint: string): IssuerStop {
  return {
    account: deriveAta(hotWallet, mint, TOKEN_2022_PROGRAM),
    set: (stopped) => rpc(url, 'localnet_setPaused', [mint, stopped]),
    isStopped: async (commitment) =>
      (await parsed(url, mint, commitment)).extensions?.some(({ state }) => state?.paused === true) ?? false,
  };
}

/** Repeats the request until the chain has the state, because a fork can revert it. */
async function setUntil(
  { set, isStopped }: IssuerStop,
  stopped: boolean,
  commitment: 'processed' | 'finalized',
): Promise<void> {
  while ((await isStopped(commitment)) !== stopped) {
    if ((await isStopped('processed')) !== stopped) await set(stopped);
    await sleep(LOOK_EVERY_MS);
  }
}

async function untilSigned(url: string, account: string): Promise<void> {
  const end = performance.now() + SIGNED_WITHIN_MS;
  while (performance.now() < end && (await rpc<number>(url, 'localnet_inFlight', [account])) === 0)
    await sleep(LOOK_EVERY_MS);
}

/** Transactions that failed on chain for a stop of these. */
async function failed(url: string, stops: readonly IssuerStop[]): Promise<number> {
  const lists = stops.map(({ account }) =>
    rpc<readonly { readonly err: unknown }[]>(url, 'localnet_healthy', [
      'getSignaturesForAddress',
      account,
      { commitment: 'confirmed' },
    ]),
  );
  return (await Promise.all(lists)).flat().filter(({ err }) => STOPPED.test(JSON.stringify(err))).length;
}

/** The needed fields of a token account or mint in jsonParsed form. */
interface Parsed {
  readonly state?: string;
  readonly extensions?: readonly { readonly state?: { readonly paused?: boolean } }[];
}

async function parsed(url: string, address: string, commitment: string): Promise<Parsed> {
  const config = { commitment, encoding: 'jsonParsed' };
  const { value } = await rpc<{
    readonly value: { readonly data: { readonly parsed: { readonly info: Parsed } } };
  }>(url, 'localnet_healthy', ['getAccountInfo', address, config]);
  return value.data.parsed.info;
}

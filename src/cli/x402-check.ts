import { formatUnits } from '../domain/amount.ts';
import type { CheckedOffer, UrlReport } from '../x402/check/check-url.ts';
import { isUsdc } from '../x402/terms.ts';
import { readDevFile, settings } from './dev-file.ts';
import { UsageError } from './exit.ts';

export interface UrlOptions {
  readonly rpc?: string | undefined;
  readonly method: string;
}

const METHOD = /^[A-Z]{3,10}$/;

export function isUrl(text: string | undefined): text is string {
  return text !== undefined && /^https?:\/\//i.test(text);
}

/** Checks what a URL sells. Without a node, also of a running `npm run dev`, only the answer itself is checked. */
export async function checkUrlOf(url: string, { rpc, method }: UrlOptions): Promise<UrlReport> {
  if (!URL.canParse(url)) throw new UsageError(`${url} is not a URL`);
  if (!METHOD.test(method)) throw new UsageError(`--method must be a method such as POST, not ${method}`);
  const rpcUrl = rpc ?? settings().rpcUrls?.[0] ?? readDevFile().rpcUrls?.[0] ?? null;
  if (rpc !== undefined && !URL.canParse(rpc)) throw new UsageError(`--rpc must be a URL, not ${rpc}`);
  const { checkUrl } = await import('../x402/check/check-url.ts');
  return checkUrl(url, method, rpcUrl);
}

const FORM_NAMES: Readonly<Record<CheckedOffer['form'], string>> = {
  v2: 'x402 version 2',
  v1: 'x402 version 1',
  interface: 'exchange interface',
};

export function renderUrlReport({ url, ok, offers, faults, notes, isChainChecked }: UrlReport): string {
  const problem = offers.length === 0 ? 'cannot pay' : 'cannot pay, or not every client can';
  const verdict = ok
    ? "a buyer's client can pay"
    : `a buyer's client ${problem}: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}`;
  const chainNote =
    offers.length > 0 && !isChainChecked
      ? ['note: mints, token accounts and fee payers are not checked: use --rpc or SLUICE_RPC_URLS']
      : [];
  return [
    `${url}: ${verdict}`,
    ...offers.map(describeOffer),
    ...faults.map(
      ({ place, expected, found }) =>
        `fault: ${place} ${expected}${found === null ? '' : `; it is ${found}`}`,
    ),
    ...notes.map((text) => `note: ${text}`),
    ...chainNote,
  ].join('\n');
}

function describeOffer(offer: CheckedOffer): string {
  const { form, amount, asset, decimals, cluster, payTo, feePayer, memo, maxTimeoutSeconds } = offer;
  const units = `${amount} base units of ${asset}`;
  const price =
    decimals === null
      ? units
      : `${formatUnits(amount, decimals)} ${isUsdc(asset) ? 'USDC' : 'tokens'} (${units})`;
  const parts = [
    `${price} on Solana ${cluster} to ${payTo}`,
    feePayer === null ? 'the buyer pays the fee' : `${feePayer} pays the fee`,
    ...(memo === null ? [] : [`with the memo ${JSON.stringify(memo)}`]),
    ...(maxTimeoutSeconds === null ? [] : [`within ${maxTimeoutSeconds} s`]),
  ];
  return `  ${FORM_NAMES[form]}: ${parts.join(', ')}`;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Keypair } from '@solana/web3.js';
import { challengeIn, signChallenge } from '../../devkit/localstack/sign-in.ts';
import { PASS_HEADER } from '../../src/x402/passes/presented.ts';
import { ANSWER_MS, type Bought, type BuyerDeps, REPEAT_MS } from './buyer.ts';
import { type AccessKind, isForbidden, type PlannedPurchase } from './plan.ts';
import { requestOf } from './present.ts';
import { contentOf } from './upstream.ts';

/** A request without a payment of a buyer that has its item. */
export interface AccessUse {
  readonly purchase: PlannedPurchase;
  readonly access: AccessKind;
  /** The buyer's own access pass. */
  readonly pass: string;
  /** No other request of the run has it. */
  readonly subject: string;
  /** `none`: the gateway did not decide before the end of the run. */
  readonly end: 'served' | 'refused' | 'none';
  /** The last answer, or the last failure, for people. */
  readonly last: string;
}

/** A fork can take the payment of a pass back for a while. */
const UNTIL_LANDED = ['access_pass_unpaid', 'sign_in_without_payment'];

/**
 * Asks for another item without a payment, until the gateway decides. Null if the buyer does not plan it, or has no pass.
 * `round`: separates the requests of one buyer.
 */
export async function useAccess(deps: BuyerDeps, bought: Bought, round: number): Promise<AccessUse | null> {
  const { purchase, pass, end } = bought;
  const { access } = purchase;
  if (access === null || pass === null || end.kind !== 'answered') return null;
  const subject = `${purchase.subject}-${access}-${round}`;
  const use = { purchase, access, pass, subject };
  let last = 'the buyer has not asked yet';
  while (!deps.end.aborted) {
    const { status, text } = await ask(deps, use).catch((error: unknown) => ({
      status: 0,
      text: String(error),
    }));
    last = `${status} ${text.slice(0, 200)}`;
    if (status === 200) return { ...use, end: text.includes(contentOf(subject)) ? 'served' : 'none', last };
    const isPending = !isForbidden(access) && UNTIL_LANDED.some((error) => text.includes(error));
    if (status === 402 && !isPending) return { ...use, end: 'refused', last };
    await sleep(REPEAT_MS);
  }
  return { ...use, end: 'none', last };
}

async function ask(
  deps: BuyerDeps,
  use: Pick<AccessUse, 'purchase' | 'access' | 'pass' | 'subject'>,
): Promise<{ readonly status: number; readonly text: string }> {
  const [url, { headers }] = requestOf(deps.gatewayUrl, { ...use.purchase, subject: use.subject });
  const signal = AbortSignal.timeout(ANSWER_MS);
  const right = await headersOf(use, deps.key, () => fetch(url, { signal }));
  const response = await fetch(url, { headers: { ...headers, ...right }, signal });
  return { status: response.status, text: await response.text() };
}

/** The headers that claim access. `askToPay` gets a 402. */
async function headersOf(
  { access, pass }: Pick<AccessUse, 'access' | 'pass'>,
  key: Uint8Array,
  askToPay: () => Promise<Response>,
): Promise<Readonly<Record<string, string>>> {
  switch (access) {
    case 'pass':
      return { [PASS_HEADER]: pass };
    case 'bearer':
      return { authorization: `Bearer ${pass}` };
    case 'forged':
      return { [PASS_HEADER]: forged(pass) };
    case 'sign-in':
      return { 'sign-in-with-x': signChallenge(challengeIn(await askToPay()), key) };
    case 'stranger':
      return { 'sign-in-with-x': signChallenge(challengeIn(await askToPay()), Keypair.generate().secretKey) };
  }
}

/** The pass with another signature. */
function forged(pass: string): string {
  const [header, claims, signature = ''] = pass.split('.');
  return [header, claims, `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`].join('.');
}

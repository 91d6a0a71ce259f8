import { setTimeout as sleep } from 'node:timers/promises';
import { PRICED } from '../../test/peers/peer-server.ts';
import type { Market, Seller } from './market.ts';
import { balance } from './wallets.ts';

const POLL_MS = 400;
const FINAL_WITHIN_MS = 30_000;

/** Number of payments in the seller's finalized balance. One unit created its account. */
export async function received({ nodeUrl, token }: Market, { payTo }: Seller): Promise<number> {
  return Number(((await balance(nodeUrl, token, payTo, 'finalized')) - 1n) / PRICED.amount);
}

/** Waits at most 30 seconds until the seller's finalized balance contains this many payments, and counts them. */
export async function untilReceived(market: Market, seller: Seller, payments: number): Promise<number> {
  const end = Date.now() + FINAL_WITHIN_MS;
  let count = await received(market, seller);
  while (count < payments && Date.now() < end) {
    await sleep(POLL_MS);
    count = await received(market, seller);
  }
  return count;
}

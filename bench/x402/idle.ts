import { setTimeout as sleep } from 'node:timers/promises';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { type Costs, startCosts } from './costs.ts';
import type { BySeller, Market } from './market.ts';

/** The market without payments. */
export interface Idle {
  readonly seconds: number;
  /** Of all `seconds`. */
  readonly costs: BySeller<Costs>;
  /** The slot time of the chain. */
  readonly slotMs: number;
}

export async function measureIdle(market: Market, idleSeconds: number): Promise<Idle> {
  const [ours, theirs] = market.sellers;
  const slot = () => rpc<number>(market.nodeUrl, 'getSlot', [{ commitment: 'processed' }]);
  const firstSlot = await slot();
  const startedAt = performance.now();
  const costs = { ours: startCosts(market, ours), theirs: startCosts(market, theirs) };
  await sleep(1_000 * idleSeconds);
  const measured = { ours: costs.ours(), theirs: costs.theirs() };
  const elapsedMs = performance.now() - startedAt;
  const slots = (await slot()) - firstSlot;
  if (slots < 1) throw new Error(`the chain produced no slot in ${idleSeconds} s`);
  return { seconds: elapsedMs / 1_000, costs: measured, slotMs: elapsedMs / slots };
}

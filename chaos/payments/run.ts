import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { finalizedBlocks, incomingTransfersIn } from '../../devkit/localstack/chain-truth.ts';
import type { SalesOptions } from '../../devkit/localstack/sales.ts';
import type { Stack } from '../../devkit/localstack/stack.ts';
import type { Payment } from '../../src/client/client.ts';
import { SluiceClient } from '../../src/client/client.ts';
import { healthy } from '../deposits/payer.ts';
import { retryWhileUnavailable } from '../unavailable.ts';
import { auditPayments, type LandedTransfer, type PaymentVerdict } from './audit.ts';
import { type Bought, buyItem } from './buyer.ts';
import { drawPurchases, type PlannedPurchase, type PurchasePlan } from './plan.ts';
import { Upstream } from './upstream.ts';

const PRICE_UNITS = 1_000n;
const LOOK_MS = 500;

/** The sales of a run: an upstream, and buyers of one item each. */
export class PaymentRun {
  readonly #purchases: readonly PlannedPurchase[];
  readonly #upstream: Upstream;
  readonly #bought: Bought[] = [];

  private constructor(purchases: readonly PlannedPurchase[], upstream: Upstream) {
    this.#purchases = purchases;
    this.#upstream = upstream;
  }

  /** Before the stack starts: the routes file names the upstream. */
  static async open(plan: PurchasePlan): Promise<PaymentRun> {
    const purchases = drawPurchases(plan);
    return new PaymentRun(purchases, await Upstream.open(purchases));
  }

  get sales(): SalesOptions {
    const price = { amount: PRICE_UNITS.toString() };
    return {
      routesOf: ({ seller, asset }) => ({
        payTo: seller,
        routes: [{ path: '/item', price: { ...price, asset }, upstream: this.#upstream.url }],
      }),
    };
  }

  /** Every buyer comes at its moment. Resolves when all have an answer and no payment is open, or at `end`. */
  async run(stack: Stack, startMs: number, end: AbortSignal): Promise<void> {
    const { gatewayUrl, buyer } = salesOf(stack);
    const key = Uint8Array.from(JSON.parse(readFileSync(buyer.path, 'utf8')) as number[]);
    const deps = { gatewayUrl, key, rpcUrls: stack.rpcUrls, end };
    await Promise.all(
      this.#purchases.map(async (purchase) => {
        await sleep(Math.max(0, startMs + purchase.atMs - performance.now()));
        this.#bought.push(await buyItem(deps, purchase));
      }),
    );
    while (!end.aborted && (await hasOpen(stack))) await sleep(LOOK_MS);
  }

  /** A readable summary of the buyers' results. */
  get summary(): string {
    const sum = (of: (one: Bought) => number) => this.#bought.reduce((all, one) => all + of(one), 0);
    const [signed, shown] = [sum(({ signatures }) => signatures.length), sum((one) => one.shown)];
    return `${this.#bought.length} buyers signed ${signed} payments and showed them ${shown} times; the upstream had ${this.#upstream.requests.length} requests`;
  }

  /** Compares the blocks with the database, once nothing can land any more. */
  async judge(stack: Stack): Promise<PaymentVerdict> {
    const [url = ''] = stack.rpcUrls;
    const tip = await healthy<number>(url, 'getSlot', { commitment: 'processed' });
    while ((await healthy<number>(url, 'getSlot', { commitment: 'finalized' })) < tip) await sleep(LOOK_MS);
    const [landed, record] = await Promise.all([landedPayments(stack, url), readRecord(stack)]);
    return auditPayments({ landed, record, bought: this.#bought, requests: this.#upstream.requests });
  }

  async close(): Promise<void> {
    await this.#upstream.close();
  }
}

async function landedPayments(stack: Stack, url: string): Promise<readonly LandedTransfer[]> {
  const { seller, asset: mint } = salesOf(stack);
  const landed: LandedTransfer[] = [];
  for await (const block of finalizedBlocks(url)) {
    for (const { signature, asset, amount } of incomingTransfersIn(block, new Set([seller]))) {
      if (asset !== mint || amount !== PRICE_UNITS) continue;
      const found = block.transactions.find(({ transaction }) => transaction.signatures[0] === signature);
      landed.push({ signatures: found?.transaction.signatures ?? [signature] });
    }
  }
  return landed;
}

async function hasOpen(stack: Stack): Promise<boolean> {
  try {
    return (await readRecord(stack)).some(({ state }) => state === 'settling' || state === 'owed');
  } catch {
    return true;
  }
}

async function readRecord({ apiUrl: baseUrl, apiKey }: Stack): Promise<readonly Payment[]> {
  const sluice = new SluiceClient({ baseUrl, apiKey });
  return retryWhileUnavailable(async () => {
    const record: Payment[] = [];
    for await (const payment of sluice.payments.list()) record.push(payment);
    return record;
  });
}

function salesOf({ sales }: Stack) {
  if (sales === null) throw new Error('chaos sells on its own chain: unset SLUICE_RPC_URLS');
  return sales;
}

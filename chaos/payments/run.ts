import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { FORMS } from '../../devkit/localstack/buyer.ts';
import { finalizedBlocks, incomingTransfersIn } from '../../devkit/localstack/chain-truth.ts';
import type { SalesOptions } from '../../devkit/localstack/sales.ts';
import type { Stack } from '../../devkit/localstack/stack.ts';
import type { Payment } from '../../src/client/client.ts';
import { SluiceClient } from '../../src/client/client.ts';
import { healthy } from '../healthy.ts';
import { retryWhileUnavailable } from '../unavailable.ts';
import { type AccessUse, useAccess } from './access.ts';
import { auditPayments, type LandedTransfer, type PaymentVerdict } from './audit.ts';
import { type Bought, type BuyerDeps, buyItem } from './buyer.ts';
import {
  ACCESSES,
  drawPurchases,
  FLOWS,
  type Flow,
  type PlannedPurchase,
  type PurchasePlan,
} from './plan.ts';
import { methodOf, Upstream } from './upstream.ts';

/** Above one whole token: no node serves such a payment by its report alone, as the schedule has lying nodes. */
const PRICE_UNITS = 1_000_001n;
const LOOK_MS = 500;

type GatewayFlow = Exclude<Flow, 'facilitator'>;

/** What is special in the route of a flow. */
const ROUTES: Readonly<Record<GatewayFlow, object>> = {
  get: {},
  shared: {},
  post: { retryUnsafe: true },
  'post-once': {},
  stream: { stream: true },
  'serve-first': { flow: 'serve-first', timeoutSeconds: 10, accessPass: { seconds: 86_400 } },
  pass: { accessPass: { seconds: 86_400 } },
};
const GATEWAY_FLOWS = Object.keys(ROUTES) as readonly GatewayFlow[];

/** All buyers and sellers connect from one address. */
export const SALES_SETTINGS: NodeJS.ProcessEnv = {
  SLUICE_X402_PAYMENTS_PER_SECOND: '10000',
  SLUICE_X402_FACILITATOR_OPEN: 'true',
  SLUICE_X402_FACILITATOR_REQUESTS_PER_SECOND: '10000',
};

/** The sales of a run: an upstream, and buyers of one item each. */
export class PaymentRun {
  readonly #purchases: readonly PlannedPurchase[];
  readonly #upstream: Upstream;
  readonly #bought: Bought[] = [];
  readonly #uses: AccessUse[] = [];

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
    const upstream = this.#upstream.url;
    return {
      routesOf: ({ seller, asset }) => {
        const sold = { price: { amount: PRICE_UNITS.toString(), asset }, upstream };
        const routes = GATEWAY_FLOWS.map((flow) => ({
          ...sold,
          path: `/${flow}`,
          method: methodOf(flow),
          ...ROUTES[flow],
        }));
        return { payTo: seller, routes };
      },
    };
  }

  /**
   * Every buyer comes at its moment, and uses its access pass once. Resolves when all have an answer and no payment is open,
   * or at `end`.
   */
  async run(stack: Stack, startMs: number, end: AbortSignal): Promise<void> {
    const deps = buyerDeps(stack, end);
    await Promise.all(
      this.#purchases.map(async (purchase) => {
        await sleep(Math.max(0, startMs + purchase.atMs - performance.now()));
        const bought = await buyItem(deps, purchase);
        this.#bought.push(bought);
        await this.#use(deps, bought, 1);
      }),
    );
    while (!end.aborted && (await hasOpen(stack))) await sleep(LOOK_MS);
  }

  /** Kills the gateway and starts it again. Then every buyer uses its access pass again. */
  async restart(stack: Stack, end: AbortSignal): Promise<void> {
    await stack.api.kill('SIGKILL');
    await stack.api.start();
    const deps = buyerDeps(stack, end);
    await Promise.all(this.#bought.map((bought) => this.#use(deps, bought, 2)));
  }

  async #use(deps: BuyerDeps, bought: Bought, round: number): Promise<void> {
    const use = await useAccess(deps, bought, round);
    if (use !== null) this.#uses.push(use);
  }

  /** A readable summary of the buyers' results, with the answered purchases of each flow and form. */
  get summary(): string {
    const sum = (of: (one: Bought) => number) => this.#bought.reduce((all, one) => all + of(one), 0);
    const [signed, presented] = [sum(({ signatures }) => signatures.length), sum((one) => one.presented)];
    const answered = this.#bought.filter(({ end }) => end.kind === 'answered');
    const counts = FLOWS.map((flow) => {
      const forms = answered.filter(({ purchase }) => purchase.flow === flow).map((one) => one.purchase.form);
      return `${flow} ${FORMS.map((form) => `${forms.filter((one) => one === form).length} ${form}`).join(' ')}`;
    });
    const uses = ACCESSES.map(
      (access) => `${this.#uses.filter((use) => use.access === access).length} ${access}`,
    );
    return `${this.#bought.length} buyers signed ${signed} payments and presented them ${presented} times; the upstream had ${this.#upstream.requests.length} requests; answered: ${counts.join(', ')}; without a payment: ${uses.join(', ')}`;
  }

  /** Compares the blocks with the database, once nothing can land any more. */
  async judge(stack: Stack): Promise<PaymentVerdict> {
    const [url = ''] = stack.rpcUrls;
    const tip = await healthy<number>(url, 'getSlot', { commitment: 'processed' });
    while ((await healthy<number>(url, 'getSlot', { commitment: 'finalized' })) < tip) await sleep(LOOK_MS);
    const [landed, record] = await Promise.all([landedPayments(stack, url), readRecord(stack)]);
    const { requests } = this.#upstream;
    return auditPayments({ landed, record, bought: this.#bought, uses: this.#uses, requests });
  }

  async close(): Promise<void> {
    await this.#upstream.close();
  }
}

function buyerDeps(stack: Stack, end: AbortSignal): BuyerDeps {
  const { gatewayUrl, buyer } = salesOf(stack);
  const key = Uint8Array.from(JSON.parse(readFileSync(buyer.path, 'utf8')) as number[]);
  return { gatewayUrl, key, rpcUrls: stack.rpcUrls, end };
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

import { expect, vi } from 'vitest';
import { rpc } from '../../../devkit/localstack/rpc.ts';
import type { PaymentRow } from '../../../src/ledger/x402/payments.ts';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { ChainClock } from '../../support/chain-clock.ts';
import { Customer, type Requirements, requirementsOf, settlementOf } from './customer.ts';
import { Shop } from './shop.ts';

/** A blockhash is valid for 30 s of such slots: on a busy machine a payment lands before it expires. */
const SLOT_MS = 200;
const FINALITY_LAG = 8;
/** The validity of a blockhash, the margin of an adopted message, and more blocks than the chain has above its finalized one. */
const LIFE = 220;
/** Requests of these tests mostly end as pending: the test makes each block. */
const PENDING_AFTER_MS = 3_000;
const PATIENT = { timeout: 60_000, interval: 100 };

/** A payment that was not sent yet. */
interface Prepared {
  readonly headers: Record<string, string>;
  readonly buyer: Customer;
}

/** A shop on a chain that makes blocks only by its clock: nothing lands, and no blockhash expires, by itself. */
export class ManualClockShop {
  readonly shop: Shop;
  readonly clock: ChainClock;
  #serial = 0;

  private constructor(shop: Shop) {
    this.shop = shop;
    this.clock = new ChainClock(shop.rpcUrl, SLOT_MS);
  }

  static async open(routes: Parameters<typeof Shop.open>[0]): Promise<ManualClockShop> {
    const chain = { slotMs: 0, finalityLag: FINALITY_LAG, nodes: 1 };
    const shop = await Shop.open(routes, {}, chain, 'x402', { answerWithinMs: PENDING_AFTER_MS });
    return new ManualClockShop(shop);
  }

  async close(): Promise<void> {
    await this.clock.pause();
    await this.shop.close();
  }

  get controls() {
    return this.shop.localnet.controls;
  }

  /** A URL that no other test requests. */
  url(path: string): string {
    this.#serial += 1;
    return `${this.shop.url}${path}?n=${this.#serial}`;
  }

  async customer(): Promise<Customer> {
    return new Customer((await this.shop.buyer()).secretKey);
  }

  /** A new payment of a new buyer, with the newest blockhash: the one in the quote is shared for some seconds. */
  async prepare(url: string, customer?: Customer, init: RequestInit = {}): Promise<Prepared> {
    const buyer = customer ?? (await this.customer());
    const accepted = requirementsOf(await fetch(url, init));
    const { value } = await rpc<{ value: { blockhash: string } }>(this.shop.rpcUrl, 'getLatestBlockhash', [
      { commitment: 'confirmed' },
    ]);
    const extra = { ...accepted.extra, recentBlockhash: value.blockhash };
    const fresh: Requirements = { ...accepted, extra };
    return { headers: buyer.shows(accepted, buyer.transaction(fresh)), buyer };
  }

  /** The newest payment of a buyer, once it is stored. */
  async paymentOf({ address }: Pick<Customer, 'address'>): Promise<PaymentRow> {
    return vi.waitFor(async () => {
      const { rows } = await this.shop.ledger.payments.list({ limit: 200 });
      const payment = rows.find(({ payer }) => payer === address);
      if (payment === undefined) throw new Error(`no payment of ${address} is stored`);
      return payment;
    }, PATIENT);
  }

  async reaches(id: string, state: PaymentRow['state']): Promise<void> {
    await vi.waitFor(
      async () => expect(await this.shop.ledger.payments.get(id)).toMatchObject({ state }),
      PATIENT,
    );
  }

  async finalized(id: string): Promise<void> {
    await vi.waitFor(
      async () => expect(await this.shop.ledger.settlements.get(id)).toMatchObject({ status: 'finalized' }),
      PATIENT,
    );
  }

  /** Makes so many blocks at once that no earlier message can land any more, finally. */
  expireBlockhashes(): void {
    this.controls.produceSlots(LIFE);
  }

  /** Signatures of the transactions that paid the seller, by the finalized blocks, newest first. */
  async landed(): Promise<readonly string[]> {
    const { localnet, seller, rpcUrl } = this.shop;
    const account = deriveAta(seller, localnet.plantedMint.address, TOKEN_PROGRAM);
    const listed = await rpc<{ signature: string; err: unknown }[]>(rpcUrl, 'getSignaturesForAddress', [
      account,
      { commitment: 'finalized' },
    ]);
    return listed.filter(({ err }) => err === null).map(({ signature }) => signature);
  }

  /** Sends a transaction (base64) past the gateway, and waits until a block contains it; returns its signature. */
  async send(wire: string): Promise<string> {
    const options = { encoding: 'base64', skipPreflight: true };
    const signature = await rpc<string>(this.shop.rpcUrl, 'sendTransaction', [wire, options]);
    const isConfirmed = async () => expect(await this.statusOf(signature)).toMatch(/confirmed|finalized/);
    await vi.waitFor(isConfirmed, PATIENT);
    return signature;
  }

  /** The chain's current status of a transaction, in any block; null where no block contains it. */
  async statusOf(signature: string): Promise<string | null> {
    const { value } = await rpc<{ value: ({ confirmationStatus: string } | null)[] }>(
      this.shop.rpcUrl,
      'getSignatureStatuses',
      [[signature], { searchTransactionHistory: true }],
    );
    return value[0]?.confirmationStatus ?? null;
  }
}

/** Expects that the buyer must wait, without terms by which he could pay again; returns the signature in the answer. */
export async function expectPending(response: Response): Promise<string> {
  const body = (await response.json()) as object;
  expect([response.status, response.headers.get('payment-required')]).toEqual([402, null]);
  expect(body).not.toHaveProperty('accepts');
  expect(body).not.toHaveProperty('payment');
  const settlement = settlementOf(response);
  expect(settlement).toMatchObject({
    success: false,
    errorReason: 'settlement_pending',
    transaction: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/),
  });
  return String(settlement['transaction']);
}

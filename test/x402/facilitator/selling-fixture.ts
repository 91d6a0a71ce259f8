import { setTimeout as sleep } from 'node:timers/promises';
import { base58 } from '@scure/base';
import {
  Keypair,
  MessageV0,
  PublicKey,
  type TransactionInstruction,
  VersionedTransaction,
} from '@solana/web3.js';
import { vi } from 'vitest';
import { createQuickActivities } from '../../../src/activities/quick-settlements.ts';
import { createSignerActivities } from '../../../src/activities/signing.ts';
import { isTerminal } from '../../../src/domain/settlement.ts';
import { X402 } from '../../../src/domain/settlement-kinds.ts';
import type { SettlementState } from '../../../src/domain/steps.ts';
import type { Ledger } from '../../../src/ledger/ledger.ts';
import { feePayerKeys } from '../../../src/platform/roles/signer.ts';
import { createLanding } from '../../../src/settlement/land.ts';
import { type Signer } from '../../../src/signing/signer.ts';
import { AdoptedLifetimes } from '../../../src/solana/proof/adopted.ts';
import { LandingWatcher } from '../../../src/solana/proof/landing.ts';
import { getTransaction } from '../../../src/solana/rpc/methods.ts';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { latestBlockhash } from '../../../src/solana/tx/blockhash.ts';
import { TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { RecentBlockhashes } from '../../../src/solana/tx/recent-blockhashes.ts';
import { Budgets } from '../../../src/x402/budgets.ts';
import type { FacilitatorDeps } from '../../../src/x402/facilitator/facilitator.ts';
import { x402Kind } from '../../../src/x402/kind.ts';
import type { Reached } from '../../../src/x402/purchase.ts';
import { paymentRule } from '../../../src/x402/rules/signing-policy.ts';
import { NETWORKS } from '../../../src/x402/terms.ts';
import { INTERVALS, LandingFixture } from '../../solana/landing-fixture.ts';
import { activityEnvironment } from '../../support/activity.ts';
import { signerOf } from '../../support/signer.ts';
import { LIMITS, memo, price, transferChecked, units } from '../rules/buyer.ts';

export const PRICE = 2_500n;
export const NETWORK = NETWORKS.localnet;
const BLOCK_MS = 30;
const shown = { status: 'requested', code: null } as const;

interface TransactionParts {
  readonly buyer?: Keypair;
  readonly feePayer?: string;
  readonly memo?: string;
  readonly amount?: bigint;
  readonly mint?: string;
  readonly program?: string;
}

/** A chain with blocks, a buyer with tokens, a seller with a token account, and the x402 worker's activities without Temporal. */
export class SellingFixture {
  readonly fixture: LandingFixture;
  readonly buyer = Keypair.generate();
  readonly seller = Keypair.generate().publicKey.toBase58();
  readonly feePayers: readonly Signer[];
  readonly #ledger: Ledger;
  readonly #runs = new Map<string, Promise<Reached>>();
  #clock: NodeJS.Timeout | undefined;
  #nonce = 0;

  private constructor(fixture: LandingFixture, ledger: Ledger, feePayers: readonly Signer[]) {
    this.fixture = fixture;
    this.#ledger = ledger;
    this.feePayers = feePayers;
  }

  static async open(ledger: Ledger): Promise<SellingFixture> {
    const fixture = await LandingFixture.open();
    const keys = [1, 2].map(() => signerOf());
    const selling = new SellingFixture(fixture, ledger, await Promise.all(keys));
    const { controls } = fixture.localnet;
    for (const { address } of selling.feePayers) await controls.airdrop(address, 1_000_000_000n);
    await controls.mintTo(selling.mint, selling.buyer.publicKey.toBase58(), 1_000_000n);
    await controls.mintTo(selling.mint, selling.seller, 1n);
    controls.produceSlots(8);
    selling.startBlocks();
    return selling;
  }

  async close(): Promise<void> {
    this.stopBlocks();
    await Promise.allSettled(this.#runs.values());
    await this.fixture.close();
  }

  get mint(): string {
    return this.fixture.localnet.mint.address;
  }

  /** The fee payer that `/supported` publishes. */
  get feePayer(): string {
    return this.feePayers[0]?.address ?? '';
  }

  startBlocks(): void {
    this.#clock ??= setInterval(() => this.fixture.localnet.controls.produceSlot(), BLOCK_MS);
  }

  stopBlocks(): void {
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  deps(change: Partial<FacilitatorDeps> = {}): FacilitatorDeps {
    return {
      ledger: this.#ledger,
      chain: this.fixture.chain,
      blockhashes: new RecentBlockhashes(this.fixture.pool),
      runs: { reach: (id, _commitment, withinMs) => Promise.race([this.reach(id), pendingAfter(withinMs)]) },
      direct: null,
      network: NETWORK,
      feePayers: this.feePayers.slice(0, 1).map(({ address }) => address),
      managed: this.feePayers.map(({ address }) => address),
      limits: LIMITS,
      budgets: this.budgets(10_000_000n, 10_000_000n),
      tokenPolicy: {},
      discovery: {
        catalog: this.#ledger.catalog,
        ownItems: () => [],
        publicUrl: 'http://gateway.example',
        warn: () => undefined,
      },
      apiKeys: null,
      rateLimit: null,
      trustedProxies: [],
      warn: () => undefined,
      observe: () => undefined,
      ...change,
    };
  }

  budgets(feePayer: bigint, buyer: bigint, facilitatorCaller = 10_000_000n): Budgets {
    return new Budgets({ ledger: this.#ledger, budgets: { feePayer, buyer, facilitatorCaller } });
  }

  /** Base64 of a transaction like that of the official client: two limits, the transfer, a memo; signed by the buyer alone. */
  async transaction(parts: TransactionParts = {}): Promise<string> {
    const { buyer = this.buyer, feePayer = this.feePayer, amount = PRICE, mint = this.mint } = parts;
    const { program = TOKEN_PROGRAM } = parts;
    const owner = buyer.publicKey.toBase58();
    this.#nonce += 1;
    const source = deriveAta(owner, mint, program);
    const destination = deriveAta(this.seller, mint, program);
    const keys = [[source, 'w'], [mint], [destination, 'w'], [owner, 's']] as const;
    const { decimals } = this.fixture.localnet.mint;
    const instructions: TransactionInstruction[] = [
      units(),
      price(),
      transferChecked({ keys, amount, decimals, program }),
      memo(parts.memo ?? `nonce ${this.#nonce}`),
    ];
    // Not the shared blockhash of the chain: blocks made at once may have expired it.
    const { blockhash: recentBlockhash } = await latestBlockhash(this.fixture.pool);
    const payerKey = new PublicKey(feePayer);
    const message = MessageV0.compile({ payerKey, recentBlockhash, instructions });
    const transaction = new VersionedTransaction(message);
    transaction.sign([buyer]);
    return Buffer.from(transaction.serialize()).toString('base64');
  }

  /** Sends the transaction as another owner of the fee payer's key; resolves with the signature once the chain has it. */
  async sendElsewhere(transaction: string): Promise<string> {
    const read = VersionedTransaction.deserialize(Buffer.from(transaction, 'base64'));
    const signature = (await this.feePayers[0]?.sign(read.message.serialize())) ?? new Uint8Array();
    read.addSignature(new PublicKey(this.feePayer), signature);
    await this.fixture.chain.send(Buffer.from(read.serialize()).toString('base64'));
    const named = base58.encode(signature);
    await vi.waitFor(
      () =>
        this.fixture.pool
          .read((node) => getTransaction(node, named, 'confirmed'))
          .then((returned) => {
            if (returned === null) throw new Error('not yet');
          }),
      10_000,
    );
    return named;
  }

  requirements2(change: object = {}) {
    return {
      scheme: 'exact',
      network: NETWORK.caip2,
      asset: this.mint,
      amount: PRICE.toString(),
      payTo: this.seller,
      maxTimeoutSeconds: 60,
      extra: { feePayer: this.feePayer },
      ...change,
    };
  }

  version2(transaction: unknown, change: object = {}) {
    const paymentRequirements = this.requirements2(change);
    const paymentPayload = { x402Version: 2, accepted: paymentRequirements, payload: { transaction } };
    return { x402Version: 2, paymentPayload, paymentRequirements };
  }

  version1(transaction: unknown, change: object = {}) {
    const { amount, ...rest } = this.requirements2({ network: NETWORK.v1 });
    const described = { resource: 'http://shop/report', description: '', mimeType: '' };
    const paymentRequirements = { ...rest, maxAmountRequired: amount, ...described, ...change };
    const payment = { scheme: 'exact', network: NETWORK.v1, payload: { transaction } };
    return { x402Version: 1, paymentPayload: { x402Version: 1, ...payment }, paymentRequirements };
  }

  /** Works like `PaymentRuns`: callers share one wait, and Postgres has the state. */
  reach(id: string): Promise<Reached> {
    const going = this.#runs.get(id);
    if (going !== undefined) return going;
    const run = this.#run(id).finally(() => this.#runs.delete(id));
    this.#runs.set(id, run);
    return run;
  }

  async #run(id: string): Promise<Reached> {
    const { quick, landing } = this.#activities();
    const settling: Promise<SettlementState> = activityEnvironment().run(() =>
      quick.settleQuickly({ id, shown }),
    );
    const { attempt, status } = await settling;
    const signature = attempt?.signature ?? null;
    if (status === 'confirmed' || isTerminal(status) || attempt === null || signature === null)
      return { status, signature };
    await activityEnvironment().run(() => landing.landAttempt({ id, n: attempt.n, signature }));
    return { status: (await this.#ledger.settlements.get(id)).status, signature };
  }

  #activities() {
    const { chain, pool } = this.fixture;
    const feePayers = this.feePayers.map(({ address }) => address);
    const kind = x402Kind({ ledger: this.#ledger, chain, lifetimes: new AdoptedLifetimes(pool), feePayers });
    const watcher = new LandingWatcher(chain, INTERVALS);
    const deps = { ledger: this.#ledger, chain, kinds: { [X402]: kind }, watcher, recheckMs: 50 };
    const payments = {
      maxFeeLamports: 15_000n,
      maxComputeUnits: 60_000,
      spend: { add: () => undefined, discard: () => undefined },
    };
    const bounds = {
      priceCapMicroLamports: 5_000_000n,
      maxFeeLamports: 500_000n,
      allowHookAccounts: false,
      payments,
    };
    const keys = feePayerKeys(this.feePayers);
    const signer = createSignerActivities({ keys, bounds, rules: { [X402]: paymentRule } });
    return { quick: createQuickActivities({ ...deps, signer }), landing: createLanding(deps) };
  }
}

/** Rejects when a caller stops waiting. */
async function pendingAfter(withinMs: number): Promise<Reached> {
  await sleep(withinMs);
  return { status: 'requested', signature: null };
}

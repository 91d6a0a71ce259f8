import { Keypair } from '@solana/web3.js';
import { expect } from 'vitest';
import { createSettlementActivities } from '../../src/activities/settlements.ts';
import { createSignerActivities } from '../../src/activities/signing.ts';
import { createPreparation } from '../../src/activities/withdrawals.ts';
import {
  advanceSubject,
  type ConsumedNonce,
  NONCE_ADVANCE,
  NONCE_CREATE,
  settlementId,
  WITHDRAWAL,
} from '../../src/domain/settlement-kinds.ts';
import type { Landing, Preparation, PreparedAttempt } from '../../src/domain/steps.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { NonceAccountRow } from '../../src/ledger/settlements/nonces.ts';
import { SIGNING_RULES } from '../../src/platform/roles/signer.ts';
import { createLanding } from '../../src/settlement/land.ts';
import { NonceLifetimes } from '../../src/settlement/lifetimes.ts';
import type { Chain } from '../../src/solana/chain.ts';
import { nonceAddress, nonceSeed } from '../../src/solana/nonces/account.ts';
import { LandingWatcher } from '../../src/solana/proof/landing.ts';
import { FeePlanner } from '../../src/solana/tx/fees.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import { nonceKinds } from '../../src/treasury/nonce-accounts.ts';
import { Composer } from '../../src/withdrawals/compose.ts';
import { withdrawalKind } from '../../src/withdrawals/kind.ts';
import { activityEnvironment } from '../support/activity.ts';
import { QUICK_PRICES } from '../support/quick-chain.ts';
import { signerOf } from '../support/signer.ts';

/** The amount of each withdrawal, in lamports. */
export const AMOUNT = 2_000_000n;

const BOUNDS = { priceCapMicroLamports: 1_000_000n, maxFeeLamports: 500_000n, allowHookAccounts: false };
let serial = 0;

interface FixtureParts {
  readonly ledger: Ledger;
  readonly chain: Chain;
  readonly key: Keypair;
}

/** An unfinished withdrawal of {@link AMOUNT} to a new wallet. */
export type PaidWithdrawal = Awaited<ReturnType<typeof newWithdrawal>>;
/** An attempt and its signature, which is not sent. */
export type UnsentAttempt = Awaited<ReturnType<NonceFixture['sign']>>;

/** The activities of withdrawals with durable nonces over one database, called as the workflows call them. */
export class NonceFixture {
  readonly act: Awaited<ReturnType<typeof activities>>;
  readonly #ledger: Ledger;
  readonly #wallet: string;

  static async open(parts: FixtureParts): Promise<NonceFixture> {
    return new NonceFixture(parts, await activities(parts));
  }

  private constructor({ ledger, key }: FixtureParts, act: NonceFixture['act']) {
    this.#ledger = ledger;
    this.#wallet = key.publicKey.toBase58();
    this.act = act;
  }

  /** Runs the steps of workflow `settlement` for one attempt; null if no step is due. */
  async settle(id: string): Promise<Landing | null> {
    const attempt = await this.prepareSettlement(id);
    return attempt === null ? null : this.landSettlement(id, attempt, await this.signSettlement(attempt));
  }

  async prepareSettlement(id: string): Promise<PreparedAttempt | null> {
    const preparation = await this.act.prepareSettlement({ id, shown: { status: 'requested', code: null } });
    return preparation.kind === 'prepared' ? preparation.attempt : null;
  }

  async signSettlement({ tasks: [task] = [] }: PreparedAttempt): Promise<string> {
    if (task === undefined) throw new Error('it is signed');
    return (await run((input) => this.act.signTransaction(input), task)).signature;
  }

  landSettlement(id: string, { n }: PreparedAttempt, signature: string): Promise<Landing> {
    return run((input) => this.act.landAttempt(input), { id, n, signature });
  }

  /** The settlement that uses up a nonce. */
  async advance(used: ConsumedNonce): Promise<string> {
    await this.#ledger.nonces.requestAdvance(used);
    return settlementId(NONCE_ADVANCE, advanceSubject(used));
  }

  land({ id, n, signature }: UnsentAttempt): Promise<Landing> {
    return run((input) => this.act.landAttempt(input), { id, n, signature });
  }

  async newAccount(): Promise<NonceAccountRow> {
    const addressOf = (position: number) => nonceAddress(this.#wallet, nonceSeed(position));
    const { address } = await this.#ledger.nonces.register(this.#wallet, addressOf);
    const making = () => this.settle(settlementId(NONCE_CREATE, address));
    let end = await making();
    // Its blockhash lives for some seconds here, and a slow database may take longer.
    while (end?.kind === 'dead') end = await making();
    expect(end).toMatchObject({ kind: 'finalized' });
    return this.account(address);
  }

  async account(address: string): Promise<NonceAccountRow> {
    const row = await this.#ledger.nonces.get(address);
    if (row === undefined) throw new Error(`${address} is not in the database`);
    return row;
  }

  withdrawal(): Promise<PaidWithdrawal> {
    return newWithdrawal(this.#ledger);
  }

  prepare(terms: PaidWithdrawal): Promise<Preparation> {
    return this.act.prepareAttempt({ terms, shown: { status: 'requested', code: null } });
  }

  async preparedWhenFree(paid: PaidWithdrawal): Promise<Preparation> {
    await expect.poll(async () => (await this.prepare(paid)).kind, { timeout: 30_000 }).toBe('prepared');
    return this.prepare(paid);
  }

  /** The attempt that was prepared, signed by the signer. */
  async sign({ id, destination, amount }: PaidWithdrawal, preparation: Preparation) {
    if (preparation.kind !== 'prepared') throw new Error(`${id} is not prepared but ${preparation.kind}`);
    const {
      n,
      signature: _signature,
      message,
      tasks: _tasks,
      isAwaited: _isAwaited,
      ...attempt
    } = preparation.attempt;
    const terms = { withdrawalId: id, asset: 'SOL', amount, destination, memo: null, ...attempt };
    const task = { kind: WITHDRAWAL, key: 'hot', message, terms };
    const { signature } = await run((input) => this.act.signTransaction(input), task);
    return { id, n, signature, message };
  }
}

async function activities({ ledger, chain, key }: FixtureParts) {
  const hotWallet = key.publicKey.toBase58();
  const signer = await signerOf(key);
  const fees = new FeePlanner(chain, QUICK_PRICES);
  const watcher = new LandingWatcher(chain, { pollMs: 20, resendMs: 100, examineIntervalMs: 50 });
  const composer = new Composer({
    chain,
    fees,
    lifetimes: new NonceLifetimes({ ledger, chain, hotWallet }),
    rules: { hotWallet, confirmUsedWallet: false, tokenPolicy: {} },
    bounds: BOUNDS,
  });
  const walletWatch = new WalletWatch({ ledger, chain, hotWallet });
  const kind = withdrawalKind({ ledger, composer, chain, walletWatch });
  const kinds = { [WITHDRAWAL]: kind, ...nonceKinds({ ledger, chain, fees, hotWallet }) };
  return {
    kinds,
    ...createPreparation({ ledger, kind }),
    ...createLanding({ ledger, watcher, chain, kinds, recheckMs: 50 }),
    ...createSettlementActivities({ ledger, kinds }),
    ...createSignerActivities({ keys: { hot: signer }, bounds: BOUNDS, rules: SIGNING_RULES }),
  };
}

/** Runs an activity that needs a context, as a worker would. */
function run<A, R>(activity: (input: A) => Promise<R>, input: A): Promise<R> {
  return activityEnvironment().run(activity, input);
}

async function newWithdrawal(ledger: Ledger) {
  serial += 1;
  const terms = {
    id: `n-${serial}`,
    asset: 'SOL',
    amount: AMOUNT.toString(),
    destination: Keypair.generate().publicKey.toBase58(),
    acceptEmptyWallet: true,
  };
  await ledger.withdrawals.reserve(terms);
  return terms;
}

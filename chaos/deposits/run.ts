import { setTimeout as sleep } from 'node:timers/promises';
import { mintsOf } from '../../devkit/localstack/chain.ts';
import type { IncomingTransfer } from '../../devkit/localstack/chain-truth.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import type { Stack } from '../../devkit/localstack/stack.ts';
import { type DepositEvent, SluiceClient } from '../../src/client/client.ts';
import { connectTemporal } from '../../src/platform/temporal/client.ts';
import { healthy } from '../healthy.ts';
import { isUnavailable } from '../unavailable.ts';
import type { DepositAudit } from './audit.ts';
import { auditDeposits } from './audit.ts';
import { type Made, readEvidence } from './evidence.ts';
import { Exchange } from './exchange.ts';
import { type Coins, coinsOf } from './instructions.ts';
import { Payers } from './payer.ts';
import { type PlannedDeposit, TOKEN_MINIMUM } from './plan.ts';

const TOKEN_ACCOUNT_BYTES = 165;
const LOOK_EVERY_MS = 500;

/** The deposits of a run: users, payers, and a follower that reads the feed over HTTP during the whole run. */
export class DepositRun {
  readonly exchange: Exchange;
  readonly #stack: Stack;
  readonly #sluice: SluiceClient;
  readonly #coins: Coins;
  readonly #payers: Payers;
  readonly #end: AbortSignal;
  readonly #closeTemporal: () => Promise<void>;
  readonly #made: Made[] = [];
  readonly #followed: DepositEvent[] = [];
  readonly #enough = new AbortController();

  private constructor(rooms: {
    stack: Stack;
    sluice: SluiceClient;
    exchange: Exchange;
    coins: Coins;
    payers: Payers;
    end: AbortSignal;
    closeTemporal: () => Promise<void>;
  }) {
    this.#stack = rooms.stack;
    this.#sluice = rooms.sluice;
    this.exchange = rooms.exchange;
    this.#coins = rooms.coins;
    this.#payers = rooms.payers;
    this.#end = rooms.end;
    this.#closeTemporal = rooms.closeTemporal;
  }

  /** Before any fault: assets are listed, payers have money, and the scan has begun. `end` ends whatever still waits then. */
  static async open(stack: Stack, end: AbortSignal): Promise<DepositRun> {
    const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
    const { address, namespace } = stack.temporal;
    const { connection, client } = await connectTemporal({ address, namespace });
    const exchange = await Exchange.open(sluice, client, end);
    const url = stack.rpcUrls[0] ?? '';
    const coins = await coinsOn(stack, url);
    const payers = await Payers.open(url, coins);
    await exchange.list(coins.token.address, TOKEN_MINIMUM);
    await exchange.list(coins.feeToken.address, 1n);
    while ((await sluice.scan.status()).cursor === null)
      await sleep(LOOK_EVERY_MS, undefined, { signal: end });
    const closeTemporal = () => connection.close();
    return new DepositRun({ stack, sluice, exchange, coins, payers, end, closeTemporal });
  }

  /** Makes every payment at its time, and resolves when all are final and recorded; one line for each failure. */
  async run(payments: readonly PlannedDeposit[], startMs: number): Promise<readonly string[]> {
    const following = this.#follow();
    const failures = await Promise.all(payments.map((payment) => this.#payOne(payment, startMs)));
    const unsettled = await this.#settled();
    this.#enough.abort();
    return [...failures, unsettled, await following].flatMap((one) => (one === null ? [] : [one]));
  }

  /** Compares the blocks with the database; `arrivals` are the users' incoming transfers in the blocks. */
  async judge(): Promise<{
    readonly deposits: DepositAudit;
    readonly findings: readonly string[];
    readonly arrivals: readonly IncomingTransfer[];
  }> {
    const evidence = await readEvidence({
      stack: this.#stack,
      sluice: this.#sluice,
      coins: this.#coins,
      made: this.#made,
      followed: this.#followed,
    });
    return { ...auditDeposits(evidence), arrivals: evidence.arrivals };
  }

  async close(): Promise<void> {
    this.#enough.abort();
    await this.#closeTemporal();
  }

  async #payOne(payment: PlannedDeposit, startMs: number): Promise<string | null> {
    try {
      await sleep(Math.max(0, startMs + payment.atMs - performance.now()), undefined, { signal: this.#end });
      const wallets = await Promise.all(payment.legs.map(({ user }) => this.exchange.addressOf(user)));
      const signature = await this.#payers.pay(payment, wallets, this.#end);
      this.#made.push({ payment, wallets, signature });
      return null;
    } catch (error) {
      return `a payment of ${payment.legs.length} legs was not made: ${String(error)}`;
    }
  }

  /** Reads the feed until there is enough; null, or why it ended before. */
  async #follow(): Promise<string | null> {
    const { signal } = this.#enough;
    try {
      for await (const event of this.#sluice.deposits.events({ signal, pollMs: LOOK_EVERY_MS }))
        this.#followed.push(event);
      return null;
    } catch (error) {
      return signal.aborted ? null : `the feed cannot be followed: ${String(error)}`;
    }
  }

  /**
   * Resolves when the scan has passed the newest final block, nothing is pending and the follower has it all; else at the end. Null, or
   * why the API refuses to answer.
   */
  async #settled(): Promise<string | null> {
    try {
      const tip = await healthy<number>(this.#stack.rpcUrls[0] ?? '', 'getSlot', { commitment: 'finalized' });
      while (!this.#end.aborted && !(await this.#isSettled(tip))) await sleep(LOOK_EVERY_MS);
      return null;
    } catch (error) {
      return `the deposits cannot be read: ${String(error)}`;
    }
  }

  async #isSettled(tip: number): Promise<boolean> {
    try {
      const { cursor } = await this.#sluice.scan.status();
      if (cursor === null || BigInt(cursor.slot) < BigInt(tip)) return false;
      for await (const _pending of this.#sluice.deposits.list({ state: 'pending' })) return false;
      const after = this.#followed.at(-1)?.sequence ?? '0';
      for await (const _event of this.#sluice.deposits.events({ after, follow: false })) return false;
      return true;
    } catch (error) {
      if (isUnavailable(error)) return false;
      throw error;
    }
  }
}

async function coinsOn(stack: Stack, url: string): Promise<Coins> {
  const { mint: token, feeMint: feeToken, plantedMint: unlisted } = mintsOf(stack.chainInfo);
  if (token === undefined || feeToken === undefined || unlisted === undefined)
    throw new Error('chaos needs its own chain: unset SLUICE_RPC_URLS');
  const rent = await rpc<number>(url, 'getMinimumBalanceForRentExemption', [TOKEN_ACCOUNT_BYTES]);
  return coinsOf({ token, feeToken, unlisted }, rent);
}

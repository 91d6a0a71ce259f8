import { setTimeout as sleep } from 'node:timers/promises';
import { base58 } from '@scure/base';
import { ComputeBudgetProgram, Keypair, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { retryWhileUnavailable } from '../unavailable.ts';
import { type Coins, instructionsOf } from './instructions.ts';
import type { PlannedDeposit } from './plan.ts';

/** Calls an RPC method as on a node without faults. */
export async function healthy<T>(url: string, method: string, ...params: readonly unknown[]): Promise<T> {
  return retryWhileUnavailable(() => rpc<T>(url, 'localnet_healthy', [method, ...params]));
}

interface ConfirmationStatus {
  readonly confirmationStatus: string;
}

const FINALIZED = { commitment: 'finalized' };
const LOOK_EVERY_MS = 500;
const PAYERS = 4;
const LAMPORTS = 1_000_000_000_000;
const TOKENS = '1000000000000';

/** Strangers who pay the users, each payment in exactly one finalized transaction, whatever forks take back. */
export class Payers {
  readonly #url: string;
  readonly #coins: Coins;
  readonly #keys = Array.from({ length: PAYERS }, () => Keypair.generate());
  #made = 0;

  private constructor(url: string, coins: Coins) {
    this.#url = url;
    this.#coins = coins;
  }

  /** With SOL and tokens, all of it finalized. */
  static async open(url: string, coins: Coins): Promise<Payers> {
    const payers = new Payers(url, coins);
    const { token, feeToken, unlisted } = coins;
    for (const { publicKey } of payers.#keys) {
      const address = publicKey.toBase58();
      const signatures = [await rpc<string>(url, 'requestAirdrop', [address, LAMPORTS])];
      for (const mint of [token, feeToken, unlisted])
        signatures.push(await rpc<string>(url, 'localnet_mintTo', [mint.address, address, TOKENS]));
      for (const signature of signatures) while (!(await payers.#isFinal(signature))) await sleep(50);
    }
    return payers;
  }

  /** Sends the same bytes until they are final, and others only once these cannot land any more; the signature that landed. */
  async pay(payment: PlannedDeposit, wallets: readonly string[], end: AbortSignal): Promise<string> {
    this.#made += 1;
    const number = this.#made;
    for (;;) {
      const { value } = await healthy<{ value: { blockhash: string; lastValidBlockHeight: number } }>(
        this.#url,
        'getLatestBlockhash',
        FINALIZED,
      );
      const { signature, raw } = this.#signed(payment, wallets, number, value.blockhash);
      if (await this.#landed(signature, raw, value.lastValidBlockHeight, end)) return signature;
    }
  }

  #signed(payment: PlannedDeposit, wallets: readonly string[], number: number, recentBlockhash: string) {
    const payer = this.#keys[number % PAYERS] ?? Keypair.generate();
    const { instructions, signers } = instructionsOf(payment, wallets, payer.publicKey, this.#coins);
    // Payments of equal terms would else be one transaction.
    const unique = ComputeBudgetProgram.setComputeUnitPrice({ microLamports: number });
    const message = new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash,
      instructions: [unique, ...instructions],
    }).compileToV0Message();
    const transaction = new VersionedTransaction(message);
    transaction.sign([payer, ...signers]);
    const [signature] = transaction.signatures;
    if (signature === undefined) throw new Error('a transaction without a signature');
    return { signature: base58.encode(signature), raw: transaction.serialize() };
  }

  /** False once no block can hold it any more: its last height is final, and it is in no block. */
  async #landed(signature: string, raw: Uint8Array, lastHeight: number, end: AbortSignal): Promise<boolean> {
    const bytes = Buffer.from(raw).toString('base64');
    for (;;) {
      const height = await healthy<number>(this.#url, 'getBlockHeight', FINALIZED);
      if (await this.#isFinal(signature)) return true;
      if (height > lastHeight) return false;
      // A node refuses it if it has landed already; the status above shows that.
      await healthy(this.#url, 'sendTransaction', bytes, { encoding: 'base64', skipPreflight: true }).catch(
        () => undefined,
      );
      await sleep(LOOK_EVERY_MS, undefined, { signal: end });
    }
  }

  async #isFinal(signature: string): Promise<boolean> {
    const { value } = await healthy<{ value: readonly (ConfirmationStatus | null)[] }>(
      this.#url,
      'getSignatureStatuses',
      [signature],
      { searchTransactionHistory: true },
    );
    return value[0]?.confirmationStatus === 'finalized';
  }
}

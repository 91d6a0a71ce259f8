import { setTimeout as sleep } from 'node:timers/promises';
import { base58 } from '@scure/base';
import { ComputeBudgetProgram, Keypair, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { finalStatus, healthy, outcomeOf } from '../healthy.ts';
import { type Coins, instructionsOf } from './instructions.ts';
import type { PlannedDeposit } from './plan.ts';

const FINALIZED = { commitment: 'finalized' };
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
      for (const signature of signatures)
        while ((await finalStatus(url, signature)) === null) await sleep(50);
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
      const signed = this.#signed(payment, wallets, number, value.blockhash);
      const sent = { ...signed, lastHeight: value.lastValidBlockHeight };
      if ((await outcomeOf(this.#url, sent, end)) !== 'dead') return signed.signature;
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
}

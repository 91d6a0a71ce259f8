import { base64 } from '@scure/base';
import { Keypair } from '@solana/web3.js';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { AttemptRow } from '../../src/ledger/settlements/attempts.ts';
import { blockhashLifetimes } from '../../src/settlement/lifetimes.ts';
import { loadKeypair, type Signer } from '../../src/signing/signer.ts';
import { sendTransaction } from '../../src/solana/rpc/methods.ts';
import { FeePlanner } from '../../src/solana/tx/fees.ts';
import { assembleTransaction } from '../../src/solana/tx/transfer.ts';
import { Composer } from '../../src/withdrawals/compose.ts';
import { newId } from '../ledger/support.ts';
import { QUICK_PRICES, quickChain } from '../support/quick-chain.ts';
import type { ScanRoom } from './scan-fixture.ts';

/** A hot wallet in a scan's room, and its withdrawals as a worker takes them over the record to the chain. */
export class HotPayer {
  readonly address: string;
  readonly #room: ScanRoom;
  readonly #signer: Signer;
  readonly #composer: Composer;

  private constructor(room: ScanRoom, signer: Signer) {
    const chain = quickChain(room.pool);
    this.address = signer.address;
    this.#room = room;
    this.#signer = signer;
    this.#composer = new Composer({
      chain,
      fees: new FeePlanner(chain, QUICK_PRICES),
      lifetimes: blockhashLifetimes(chain),
      rules: { hotWallet: signer.address, confirmUsedWallet: false, tokenPolicy: {} },
      bounds: {
        priceCapMicroLamports: QUICK_PRICES.capMicroLamports,
        maxFeeLamports: 500_000n,
        allowHookAccounts: false,
      },
    });
  }

  /** It holds SOL and tokens, and the scan has come to where it got them. */
  static async open(room: ScanRoom): Promise<HotPayer> {
    const payer = new HotPayer(room, await loadKeypair(JSON.stringify([...Keypair.generate().secretKey])));
    await room.ledger.watched.addHot([payer.address]);
    await room.localnet.airdrop(payer.address, 10_000_000_000n);
    await room.localnet.mintTo(room.localnet.mint.address, payer.address, 1_000_000_000n);
    room.finalize();
    await room.scanAll(room.scanner());
    return payer;
  }

  /** A withdrawal of which an attempt is on record as signed, and in a final block. */
  async pay(asset: string, destination = newAddress()): Promise<AttemptRow & { readonly signature: string }> {
    const { ledger, localnet, pool } = this.#room;
    const terms = { id: newId('paid'), asset, amount: '2000000', destination, acceptEmptyWallet: true };
    const { row } = await ledger.withdrawals.reserve(terms);
    const composed = await this.#composer.compose(row, 1, 0n);
    if (composed.kind !== 'composed') throw new Error(JSON.stringify(composed.reason));
    await ledger.attempts.prepare(composed.attempt, composed.reservations);
    const message = base64.decode(composed.attempt.message);
    const { raw, signature } = assembleTransaction(message, await this.#signer.sign(message));
    const signed = await ledger.attempts.storeSignature(row.id, 1, signature);
    await pool.read((node) => sendTransaction(node, raw));
    this.#room.finalize();
    if (localnet.controls.chain.ledger.record(signature) === undefined) throw new Error('it is in no block');
    return { ...signed, signature };
  }

  /** Records how an attempt ended, as its watcher does: in the slot that its block really has. */
  async settle(
    { settlementId, signature }: { readonly settlementId: string; readonly signature: string },
    state: 'landed' | 'failed' | 'dead' = 'landed',
  ): Promise<void> {
    const slot = BigInt(this.#room.localnet.controls.chain.ledger.record(signature)?.slot ?? 0);
    await this.#room.ledger.attempts.settle(settlementId, 1, { state, slot, proof: {} });
  }
}

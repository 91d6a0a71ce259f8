import { Keypair, LAMPORTS_PER_SOL, SystemProgram, Transaction } from '@solana/web3.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { paymentsOnChain, transactionsSignedBy } from '../../devkit/localstack/chain-truth.ts';
import { Bench, someone } from '../localnet/support.ts';

let bench: Bench;
let url: string;
let wallet: string;

beforeAll(async () => {
  bench = await Bench.start();
  url = bench.localnet.rpcUrls[0] ?? '';
  wallet = bench.payer.publicKey.toBase58();
});
afterEach(() => bench.localnet.controls.clearFaults());
afterAll(() => bench.localnet.close());

function finalize(): void {
  for (let slot = 0; slot < 6; slot += 1) bench.localnet.controls.produceSlot();
}

describe('the accounting of what left a wallet', () => {
  it('counts a payment whose fee another wallet paid', async () => {
    const [sponsor, receiver] = [Keypair.generate(), someone()];
    await bench.land(sponsor.publicKey, LAMPORTS_PER_SOL);
    const recent = await bench.connection.getLatestBlockhash('processed');
    const transaction = new Transaction({ feePayer: sponsor.publicKey, recentBlockhash: recent.blockhash });
    transaction.add(bench.pay(receiver, 3_000_000)).sign(sponsor, bench.payer);
    const signature = await bench.connection.sendRawTransaction(transaction.serialize());
    finalize();
    const payments = await paymentsOnChain(url, wallet);
    expect(payments.find((one) => one.wallet === receiver.toBase58())).toMatchObject({
      signature,
      received: 3_000_000n,
    });
    const signed = await transactionsSignedBy(url, wallet);
    expect(signed.at(-1)).toMatchObject({ signature, feeLamports: 0n, changeLamports: -3_000_000n });
  });

  it('counts a failed transaction with its fee, and not as a payment', async () => {
    const receiver = someone();
    const signed = await bench.sign(
      SystemProgram.transfer({ fromPubkey: bench.payer.publicKey, toPubkey: receiver, lamports: 10n ** 15n }),
    );
    await bench.send(signed);
    finalize();
    expect((await transactionsSignedBy(url, wallet)).at(-1)).toMatchObject({
      signature: signed.signature,
      failed: true,
      feeLamports: 5_000n,
      changeLamports: -5_000n,
    });
    const payments = await paymentsOnChain(url, wallet);
    expect(payments.filter((one) => one.wallet === receiver.toBase58())).toEqual([]);
  });

  it.each([
    ['at its start', 0],
    ['in the middle', 5],
    ['at its end', -1],
  ])('refuses to count where a block is missing %s', async (_where, index) => {
    const tip = await bench.connection.getSlot('finalized');
    const slots = await bench.connection.getBlocks(0, tip, 'finalized');
    const result = slots.toSpliced(index, 1);
    bench.localnet.controls.setFault(0, 'getBlocks', { kind: 'result', result });
    await expect(paymentsOnChain(url, wallet)).rejects.toThrow('does not list');
  });
});

import {
  createTransferCheckedInstruction,
  getAccount,
  getAssociatedTokenAddressSync,
  getMint,
  getTransferFeeConfig,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { LAMPORTS_PER_SOL, PublicKey } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Bench, someone } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench.localnet.close());

describe('the first visible block', () => {
  it('has a funded hot wallet and three mints, all finalized', async () => {
    const { mint, feeMint, plantedMint } = bench.localnet;
    expect(plantedMint.address).toBe('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU');
    expect(await bench.connection.getBalance(bench.payer.publicKey, 'finalized')).toBe(
      1000 * LAMPORTS_PER_SOL,
    );
    for (const [token, program] of [
      [mint, TOKEN_PROGRAM_ID],
      [plantedMint, TOKEN_PROGRAM_ID],
      [feeMint, TOKEN_2022_PROGRAM_ID],
    ] as const) {
      const address = new PublicKey(token.address);
      const state = await getMint(bench.connection, address, 'finalized', program);
      expect(state.decimals).toBe(6);
      const ata = getAssociatedTokenAddressSync(address, bench.payer.publicKey, false, program);
      expect((await getAccount(bench.connection, ata, 'finalized', program)).amount).toBe(1_000_000_000_000n);
    }
    const fees = getTransferFeeConfig(
      await getMint(bench.connection, new PublicKey(feeMint.address), 'finalized', TOKEN_2022_PROGRAM_ID),
    );
    expect(fees?.newerTransferFee.transferFeeBasisPoints).toBe(100);
  });

  it('answers the genesis hash of devnet', async () => {
    expect(await bench.connection.getGenesisHash()).toBe('EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG');
  });
});

describe('the localnet kit', () => {
  it('airdrops equal amounts to one wallet any number of times', async () => {
    const { airdrop } = bench.localnet;
    const to = someone();
    await Promise.all([1, 2, 3].map(() => airdrop(to.toBase58(), 5_000_000n)));
    expect(await bench.connection.getBalance(to, 'finalized')).toBe(15_000_000);
  });

  it('mints to a wallet without a token account', async () => {
    const { mint, mintTo } = bench.localnet;
    const owner = someone();
    await mintTo(mint.address, owner.toBase58(), 7n);
    const ata = getAssociatedTokenAddressSync(new PublicKey(mint.address), owner);
    expect((await getAccount(bench.connection, ata, 'finalized')).amount).toBe(7n);
  });

  it('creates Token-2022 mints whose fee is withheld at the destination', async () => {
    const mint = new PublicKey(await bench.localnet.createToken22Mint({ transferFeeBasisPoints: 250 }));
    const [from, to] = [bench.payer.publicKey, someone()];
    for (const owner of [from, to])
      await bench.localnet.mintTo(mint.toBase58(), owner.toBase58(), 1_000_000n);
    const [source, target] = [from, to].map((owner) =>
      getAssociatedTokenAddressSync(mint, owner, false, TOKEN_2022_PROGRAM_ID),
    );
    if (!source || !target) throw new Error('no token accounts');
    const signed = await bench.sign(
      createTransferCheckedInstruction(source, mint, target, from, 100_000n, 6, [], TOKEN_2022_PROGRAM_ID),
    );
    await bench.send(signed);
    bench.localnet.controls.produceSlots(2);
    expect((await getAccount(bench.connection, target, 'confirmed', TOKEN_2022_PROGRAM_ID)).amount).toBe(
      1_097_500n,
    );
    const found = await bench.connection.getTransaction(signed.signature, {
      commitment: 'confirmed',
      maxSupportedTransactionVersion: 0,
    });
    const held = found?.meta?.postTokenBalances?.map(({ owner, programId, uiTokenAmount }) => [
      owner,
      programId,
      uiTokenAmount.amount,
    ]);
    const program = TOKEN_2022_PROGRAM_ID.toBase58();
    expect(held).toHaveLength(2);
    expect(held).toContainEqual([from.toBase58(), program, '900000']);
    expect(held).toContainEqual([to.toBase58(), program, '1097500']);
  });
});

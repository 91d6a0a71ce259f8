import {
  createCloseAccountInstruction,
  createRecoverNestedInstruction,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { signVersion1 } from '../conformance/version-1.ts';
import { ataOf, pay, sol, token, useExchange } from './fakes-support.ts';

const LAMPORTS = 5_000_000n;

const use = useExchange();

describe('a deposit', () => {
  it('of many recipients in one transaction is a credit to each, under one signature (private-channels #148)', async () => {
    const { stranger } = use.exchange;
    const slot = await use.exchange.land([
      pay(stranger, use.exchange.alice.publicKey, LAMPORTS),
      pay(stranger, use.exchange.bob.publicKey, LAMPORTS + 1n),
      pay(stranger, Keypair.generate().publicKey, LAMPORTS),
      use.exchange.openAta(use.exchange.mint, use.exchange.alice.publicKey),
      use.exchange.give(use.exchange.mint, ataOf(use.exchange.mint, use.exchange.alice.publicKey), 12n),
    ]);
    expect(await use.exchange.inflows(slot)).toEqual([
      expect.objectContaining(sol(use.exchange.alice.publicKey, LAMPORTS)),
      expect.objectContaining(sol(use.exchange.bob.publicKey, LAMPORTS + 1n)),
      token(use.exchange.alice.publicKey, use.exchange.mint, 12n),
    ]);
    const { inflows } = await use.exchange.finding(slot);
    expect(new Set(inflows.map(({ signature }) => signature)).size).toBe(1);
  });

  it('by a transfer inside another program counts, though no instruction of the message moves tokens (FY scanner, private-channels #159)', async () => {
    const owner = use.exchange.alice.publicKey;
    const main = ataOf(use.exchange.mint, owner);
    const nested = ataOf(use.exchange.mint, main);
    const key = new PublicKey(use.exchange.mint);
    await use.exchange.land([
      use.exchange.openAta(use.exchange.mint, owner),
      use.exchange.openAta(use.exchange.mint, main),
      use.exchange.give(use.exchange.mint, nested, 70n),
    ]);
    const recover = createRecoverNestedInstruction(nested, key, main, main, key, owner);
    const slot = await use.exchange.land([recover], { signers: [use.exchange.alice] });
    expect(recover.programId).not.toEqual(TOKEN_PROGRAM_ID);
    expect(await use.exchange.inflows(slot)).toContainEqual(token(owner, use.exchange.mint, 70n));
  });

  it('to a recipient whom only a lookup table names is found', async () => {
    const { publicKey } = use.exchange.alice;
    const slot = await use.exchange.land([pay(use.exchange.stranger, publicKey, LAMPORTS)], {
      table: [publicKey],
    });
    const shown = await use.exchange.bench.connection.getBlock(Number(slot), {
      maxSupportedTransactionVersion: 0,
      commitment: 'finalized',
    });
    expect(shown?.transactions[0]?.transaction.message.staticAccountKeys).not.toContainEqual(publicKey);
    expect(await use.exchange.inflows(slot)).toEqual([sol(use.exchange.alice.publicKey, LAMPORTS)]);
  });

  it('of a Token-2022 mint with a fee is what arrives (FY scanner)', async () => {
    const { address } = use.exchange.bench.localnet.feeMint;
    const [owner, program] = [use.exchange.alice.publicKey, TOKEN_2022_PROGRAM_ID];
    const account = ataOf(address, owner, program);
    const slot = await use.exchange.land([
      use.exchange.openAta(address, owner, program),
      use.exchange.give(address, account, 1_000_000n, program),
    ]);
    expect(await use.exchange.inflows(slot)).toEqual([token(owner, address, 990_000n, null, account)]);
  });

  it('by a version-1 transaction is read (FY, SDP, chainstorage)', async () => {
    const { blockhash } = await use.exchange.bench.connection.getLatestBlockhash('processed');
    const transfer = pay(use.exchange.stranger, use.exchange.alice.publicKey, LAMPORTS);
    const { raw } = signVersion1(use.exchange.stranger, blockhash, [transfer]);
    const slot = await use.exchange.landRaw(Buffer.from(raw, 'base64'));
    expect((await use.exchange.block(slot)).transactions).toMatchObject([{ version: 1, error: null }]);
    expect(await use.exchange.inflows(slot)).toEqual([sol(use.exchange.alice.publicKey, LAMPORTS)]);
  });

  it('above 2^53 keeps its last digit', async () => {
    const { localnet } = use.exchange.bench;
    const [odd, most] = [2n ** 53n + 1n, 2n ** 63n + 1n];
    const native = use.exchange.slotOf(await localnet.airdrop(use.exchange.alice.publicKey.toBase58(), odd));
    expect(await use.exchange.inflows(native)).toEqual([sol(use.exchange.alice.publicKey, odd)]);
    const tokens = use.exchange.slotOf(
      await localnet.mintTo(use.exchange.mint, use.exchange.bob.publicKey.toBase58(), most),
    );
    expect(await use.exchange.inflows(tokens)).toEqual([
      token(use.exchange.bob.publicKey, use.exchange.mint, most),
    ]);
  });

  it('is the rent of an account that a stranger closes in our favour, and not of one that we close', async () => {
    const account = Keypair.generate();
    await use.exchange.land(use.exchange.openAuxiliary(account, use.exchange.stranger.publicKey), {
      signers: [account],
    });
    const { publicKey } = use.exchange.alice;
    const refund = createCloseAccountInstruction(
      account.publicKey,
      publicKey,
      use.exchange.stranger.publicKey,
    );
    expect(await use.exchange.inflows(await use.exchange.land([refund]))).toEqual([
      sol(use.exchange.alice.publicKey, 3_000_000n),
    ]);

    const own = Keypair.generate();
    await use.exchange.land(use.exchange.openAuxiliary(own, publicKey), { signers: [own] });
    const ownRefund = createCloseAccountInstruction(own.publicKey, publicKey, publicKey);
    const slot = await use.exchange.land([ownRefund], { signers: [use.exchange.alice] });
    expect(await use.exchange.inflows(slot)).toEqual([
      sol(use.exchange.alice.publicKey, 3_000_000n, 'internal'),
    ]);
  });

  it('whose fee our own wallet pays is credited all the same', async () => {
    const transfer = pay(use.exchange.stranger, use.exchange.alice.publicKey, LAMPORTS);
    const slot = await use.exchange.land([transfer], {
      payer: use.exchange.hot,
      signers: [use.exchange.stranger],
    });
    const { inflows, spends } = await use.exchange.finding(slot);
    expect(inflows).toMatchObject([
      { wallet: use.exchange.alice.publicKey.toBase58(), amount: LAMPORTS, reason: null },
    ]);
    expect(spends).toMatchObject([{ wallet: use.exchange.hot.publicKey.toBase58(), error: null }]);
  });
});

import {
  createCloseAccountInstruction,
  createRecoverNestedInstruction,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { signVersion1 } from '../conformance/version-1.ts';
import { ataOf, pay, solInflow, tokenInflow, useExchange } from './non-deposits-fixture.ts';

const LAMPORTS = 5_000_000n;

const exchange = useExchange();

describe('a deposit', () => {
  it('of many recipients in one transaction is credited to each recipient, under one signature (private-channels #148)', async () => {
    const { stranger } = exchange;
    const slot = await exchange.land([
      pay(stranger, exchange.alice.publicKey, LAMPORTS),
      pay(stranger, exchange.bob.publicKey, LAMPORTS + 1n),
      pay(stranger, Keypair.generate().publicKey, LAMPORTS),
      exchange.openAta(exchange.mint, exchange.alice.publicKey),
      exchange.give(exchange.mint, ataOf(exchange.mint, exchange.alice.publicKey), 12n),
    ]);
    expect(await exchange.inflows(slot)).toEqual([
      expect.objectContaining(solInflow(exchange.alice.publicKey, LAMPORTS)),
      expect.objectContaining(solInflow(exchange.bob.publicKey, LAMPORTS + 1n)),
      tokenInflow(exchange.alice.publicKey, exchange.mint, 12n),
    ]);
    const { inflows } = await exchange.finding(slot);
    expect(new Set(inflows.map(({ signature }) => signature)).size).toBe(1);
  });

  it('by a transfer inside another program is credited, though no instruction of the message moves tokens (FY scanner, private-channels #159)', async () => {
    const owner = exchange.alice.publicKey;
    const main = ataOf(exchange.mint, owner);
    const nested = ataOf(exchange.mint, main);
    const key = new PublicKey(exchange.mint);
    await exchange.land([
      exchange.openAta(exchange.mint, owner),
      exchange.openAta(exchange.mint, main),
      exchange.give(exchange.mint, nested, 70n),
    ]);
    const recover = createRecoverNestedInstruction(nested, key, main, main, key, owner);
    const slot = await exchange.land([recover], { signers: [exchange.alice] });
    expect(recover.programId).not.toEqual(TOKEN_PROGRAM_ID);
    expect(await exchange.inflows(slot)).toContainEqual(tokenInflow(owner, exchange.mint, 70n));
  });

  it('to a recipient that only a lookup table names is credited', async () => {
    const { publicKey } = exchange.alice;
    const slot = await exchange.land([pay(exchange.stranger, publicKey, LAMPORTS)], {
      table: [publicKey],
    });
    const shown = await exchange.bench.connection.getBlock(Number(slot), {
      maxSupportedTransactionVersion: 0,
      commitment: 'finalized',
    });
    expect(shown?.transactions[0]?.transaction.message.staticAccountKeys).not.toContainEqual(publicKey);
    expect(await exchange.inflows(slot)).toEqual([solInflow(exchange.alice.publicKey, LAMPORTS)]);
  });

  it('of a Token-2022 mint with a fee is the amount that arrives (FY scanner)', async () => {
    const { address } = exchange.bench.localnet.feeMint;
    const [owner, program] = [exchange.alice.publicKey, TOKEN_2022_PROGRAM_ID];
    const account = ataOf(address, owner, program);
    const slot = await exchange.land([
      exchange.openAta(address, owner, program),
      exchange.give(address, account, 1_000_000n, program),
    ]);
    expect(await exchange.inflows(slot)).toEqual([tokenInflow(owner, address, 990_000n, null, account)]);
  });

  it('by a version-1 transaction is credited (FY, SDP, chainstorage)', async () => {
    const { blockhash } = await exchange.bench.connection.getLatestBlockhash('processed');
    const transfer = pay(exchange.stranger, exchange.alice.publicKey, LAMPORTS);
    const { raw } = signVersion1(exchange.stranger, blockhash, [transfer]);
    const slot = await exchange.landRaw(Buffer.from(raw, 'base64'));
    expect((await exchange.block(slot)).transactions).toMatchObject([{ version: 1, error: null }]);
    expect(await exchange.inflows(slot)).toEqual([solInflow(exchange.alice.publicKey, LAMPORTS)]);
  });

  it('above 2^53 keeps its last digit', async () => {
    const { localnet } = exchange.bench;
    const [odd, most] = [2n ** 53n + 1n, 2n ** 63n + 1n];
    const native = exchange.slotOf(await localnet.airdrop(exchange.alice.publicKey.toBase58(), odd));
    expect(await exchange.inflows(native)).toEqual([solInflow(exchange.alice.publicKey, odd)]);
    const tokens = exchange.slotOf(
      await localnet.mintTo(exchange.mint, exchange.bob.publicKey.toBase58(), most),
    );
    expect(await exchange.inflows(tokens)).toEqual([
      tokenInflow(exchange.bob.publicKey, exchange.mint, most),
    ]);
  });

  it('is credited for the rent of an account that another signer closes to our wallet, and not for one that our wallet closes', async () => {
    const account = Keypair.generate();
    await exchange.land(exchange.openAuxiliary(account, exchange.stranger.publicKey), {
      signers: [account],
    });
    const { publicKey } = exchange.alice;
    const refund = createCloseAccountInstruction(account.publicKey, publicKey, exchange.stranger.publicKey);
    expect(await exchange.inflows(await exchange.land([refund]))).toEqual([
      solInflow(exchange.alice.publicKey, 3_000_000n),
    ]);

    const own = Keypair.generate();
    await exchange.land(exchange.openAuxiliary(own, publicKey), { signers: [own] });
    const ownRefund = createCloseAccountInstruction(own.publicKey, publicKey, publicKey);
    const slot = await exchange.land([ownRefund], { signers: [exchange.alice] });
    expect(await exchange.inflows(slot)).toEqual([
      solInflow(exchange.alice.publicKey, 3_000_000n, 'internal'),
    ]);
  });

  it('in a transaction whose fee our own wallet pays is credited', async () => {
    const transfer = pay(exchange.stranger, exchange.alice.publicKey, LAMPORTS);
    const slot = await exchange.land([transfer], {
      payer: exchange.hot,
      signers: [exchange.stranger],
    });
    const { inflows, spends } = await exchange.finding(slot);
    expect(inflows).toMatchObject([
      { wallet: exchange.alice.publicKey.toBase58(), amount: LAMPORTS, reason: null },
    ]);
    expect(spends).toMatchObject([{ wallet: exchange.hot.publicKey.toBase58(), error: null }]);
  });
});

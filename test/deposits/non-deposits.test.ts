import {
  AuthorityType,
  createInitializePermanentDelegateInstruction,
  createSetAuthorityInstruction,
  createSyncNativeInstruction,
  createTransferCheckedInstruction,
  ExtensionType,
  NATIVE_MINT,
  TOKEN_2022_PROGRAM_ID,
} from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { TOKEN_2022_PROGRAM } from '../../src/solana/tx/programs.ts';
import { ataOf, pay, solInflow, tokenInflow, useExchange } from './non-deposits-fixture.ts';

const LAMPORTS = 5_000_000n;

const exchange = useExchange();

describe('the scanner credits nothing for', () => {
  it('a transaction that failed (private-channels #177 and #183)', async () => {
    const { stranger } = exchange;
    const slot = await exchange.land([
      pay(stranger, exchange.alice.publicKey, LAMPORTS),
      pay(stranger, exchange.bob.publicKey, 10n ** 18n),
    ]);
    const { transactions } = await exchange.block(slot);
    expect(transactions[0]?.error).toContain('InstructionError');
    expect(await exchange.inflows(slot)).toEqual([]);
  });

  it('a transaction that was included and never executed', async () => {
    exchange.bench.localnet.controls.includeUnpayable(true);
    const transfer = pay(exchange.pauper, exchange.alice.publicKey, LAMPORTS);
    const slot = await exchange.land([transfer], { payer: exchange.pauper });
    exchange.bench.localnet.controls.includeUnpayable(false);
    expect((await exchange.block(slot)).transactions).toMatchObject([
      { error: 'AccountNotFound', feeLamports: 0n },
    ]);
    expect(await exchange.finding(slot)).toEqual({ inflows: [], outflows: [], spends: [] });
  });

  it('a token of another mint, whatever its name', async () => {
    const { localnet } = exchange.bench;
    const fake = await localnet.createToken22Mint();
    const slot = exchange.slotOf(
      await localnet.mintTo(fake, exchange.alice.publicKey.toBase58(), 1_000_000n),
    );
    const account = ataOf(fake, exchange.alice.publicKey, TOKEN_2022_PROGRAM_ID);
    expect(await exchange.inflows(slot)).toEqual([
      tokenInflow(exchange.alice.publicKey, fake, 1_000_000n, 'unknown_mint', account),
    ]);
  });

  it('tokens in a token account that is not the associated one', async () => {
    const account = Keypair.generate();
    const { publicKey } = exchange.alice;
    const slot = await exchange.land(
      [...exchange.openAuxiliary(account, publicKey), exchange.give(exchange.mint, account.publicKey, 50n)],
      { signers: [account] },
    );
    expect(await exchange.inflows(slot)).toEqual([
      tokenInflow(publicKey, exchange.mint, 50n, 'not_associated_account', account.publicKey),
    ]);
  });

  it('a token account that is transferred to our wallet, back and to our wallet again (liminalcustody.com, 2026-03)', async () => {
    const account = Keypair.generate();
    const [stranger, wallet] = [exchange.stranger.publicKey, exchange.alice.publicKey];
    const hand = (from: PublicKey, to: PublicKey) =>
      createSetAuthorityInstruction(account.publicKey, from, AuthorityType.AccountOwner, to);
    await exchange.land(
      [...exchange.openAuxiliary(account, stranger), exchange.give(exchange.mint, account.publicKey, 50n)],
      {
        signers: [account],
      },
    );
    const over = await exchange.land([hand(stranger, wallet)]);
    const handed = tokenInflow(wallet, exchange.mint, 50n, 'owner_changed', account.publicKey);
    expect(await exchange.inflows(over)).toEqual([handed]);
    expect(await exchange.inflows(over, { ownerChangeAllowed: true })).toEqual([{ ...handed, reason: null }]);

    const back = await exchange.land([hand(wallet, stranger)], { signers: [exchange.alice] });
    expect(await exchange.finding(back)).toMatchObject({
      inflows: [],
      outflows: [
        {
          account: account.publicKey.toBase58(),
          wallet: exchange.alice.publicKey.toBase58(),
          asset: exchange.mint,
          amount: 50n,
        },
      ],
    });
    const both = [exchange.give(exchange.mint, account.publicKey, 1n), hand(stranger, wallet)];
    expect(await exchange.inflows(await exchange.land(both))).toEqual([{ ...handed, amount: 51n }]);
    const round = [
      hand(wallet, stranger),
      exchange.give(exchange.mint, account.publicKey, 9n),
      hand(stranger, wallet),
    ];
    const slot = await exchange.land(round, { signers: [exchange.alice] });
    expect(await exchange.inflows(slot)).toEqual([
      { ...handed, amount: 9n, reason: 'not_associated_account' },
    ]);
  });

  it('tokens that a permanent delegate takes back in the same transaction (private-channels #125)', async () => {
    const [stranger, program] = [exchange.stranger.publicKey, TOKEN_2022_PROGRAM_ID];
    const seized = await exchange.bench.localnet.createToken22Mint({
      extensions: [
        {
          type: ExtensionType.PermanentDelegate,
          initialize: (key) => createInitializePermanentDelegateInstruction(key, stranger, program),
        },
      ],
    });
    const terms = { decimals: 6, minimumDeposit: 1n, depositsOn: true };
    exchange.assets.push({ ...terms, asset: seized, program: TOKEN_2022_PROGRAM });
    await exchange.bench.localnet.mintTo(seized, stranger.toBase58(), 1_000n);
    const owner = exchange.alice.publicKey;
    const account = ataOf(seized, owner, program);
    const key = new PublicKey(seized);
    const home = ataOf(seized, stranger, program);
    const takeBack = (amount: bigint) =>
      createTransferCheckedInstruction(account, key, home, stranger, amount, 6, [], program);
    const open = exchange.openAta(seized, owner, program);
    const whole = await exchange.land([open, exchange.give(seized, account, 500n, program), takeBack(500n)]);
    expect(await exchange.inflows(whole)).toEqual([]);
    const part = await exchange.land([exchange.give(seized, account, 500n, program), takeBack(400n)]);
    expect(await exchange.inflows(part)).toEqual([tokenInflow(owner, seized, 100n, null, account)]);
    const later = await exchange.finding(await exchange.land([takeBack(100n)]));
    expect(later).toMatchObject({
      inflows: [],
      outflows: [{ wallet: exchange.alice.publicKey.toBase58(), amount: 100n }],
    });
  });

  it('wrapped SOL under the asset SOL, as wrapped SOL is an asset of its own', async () => {
    const owner = exchange.alice.publicKey;
    const wrapped = NATIVE_MINT.toBase58();
    const account = ataOf(wrapped, owner);
    const slot = await exchange.land([
      exchange.openAta(wrapped, owner),
      pay(exchange.stranger, account, LAMPORTS),
      createSyncNativeInstruction(account),
    ]);
    expect(await exchange.inflows(slot)).toEqual([tokenInflow(owner, wrapped, LAMPORTS, 'unknown_mint')]);
  });

  it('a transfer of a wallet to itself, of SOL or of tokens', async () => {
    const { publicKey } = exchange.alice;
    const account = ataOf(exchange.mint, publicKey);
    await exchange.land([
      exchange.openAta(exchange.mint, publicKey),
      exchange.give(exchange.mint, account, 5n),
    ]);
    const itself = createTransferCheckedInstruction(
      account,
      new PublicKey(exchange.mint),
      account,
      publicKey,
      5n,
      6,
    );
    const slot = await exchange.land([pay(exchange.alice, publicKey, LAMPORTS), itself], {
      signers: [exchange.alice],
    });
    expect((await exchange.block(slot)).transactions).toMatchObject([{ error: null }]);
    expect(await exchange.finding(slot)).toEqual({ inflows: [], outflows: [], spends: [] });
  });

  it('a transfer between our own wallets or to a hot wallet', async () => {
    const hot = exchange.hot.publicKey;
    const sweep = await exchange.land([pay(exchange.bob, hot, LAMPORTS)], {
      signers: [exchange.bob],
    });
    expect(await exchange.finding(sweep)).toMatchObject({
      inflows: [{ wallet: hot.toBase58(), amount: LAMPORTS, reason: 'internal' }],
      outflows: [{ wallet: exchange.bob.publicKey.toBase58(), amount: LAMPORTS }],
    });
    const refill = await exchange.land([pay(exchange.stranger, hot, LAMPORTS)]);
    expect(await exchange.inflows(refill)).toEqual([solInflow(hot, LAMPORTS, 'hot_wallet')]);
  });
});

it('the scanner records a failed transaction that a hot wallet signed, with its fee', async () => {
  const wallet = exchange.hot.publicKey.toBase58();
  const transfer = pay(exchange.hot, Keypair.generate().publicKey, 10n ** 18n);
  const finding = await exchange.finding(await exchange.land([transfer], { payer: exchange.hot }));
  expect(finding).toMatchObject({
    inflows: [],
    outflows: [{ wallet, asset: 'SOL', amount: 5_000n }],
    spends: [{ wallet, error: expect.stringContaining('InstructionError') }],
  });
});

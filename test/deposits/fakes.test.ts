import {
  AuthorityType,
  createAssociatedTokenAccountIdempotentInstruction,
  createCloseAccountInstruction,
  createInitializeAccount3Instruction,
  createInitializePermanentDelegateInstruction,
  createRecoverNestedInstruction,
  createSetAuthorityInstruction,
  createSyncNativeInstruction,
  createTransferCheckedInstruction,
  ExtensionType,
  NATIVE_MINT,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { Keypair, PublicKey, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOKEN_2022_PROGRAM } from '../../src/solana/programs.ts';
import { signVersion1 } from '../conformance/version-1.ts';
import { ataOf, Exchange, pay } from './fakes-support.ts';

const ACCOUNT_BYTES = 165;
const LAMPORTS = 5_000_000n;

let exchange: Exchange;
let mint: string;
let [alice, bob]: readonly string[] = [];
beforeAll(async () => {
  exchange = await Exchange.start();
  mint = exchange.bench.localnet.mint.address;
  [alice, bob] = [exchange.alice.publicKey.toBase58(), exchange.bob.publicKey.toBase58()];
});
afterAll(() => exchange.close());

const sol = (wallet: string | undefined, amount: bigint, reason: string | null = null) => ({
  account: wallet,
  wallet,
  asset: 'SOL',
  amount,
  reason,
});

function token(
  wallet: PublicKey,
  asset: string,
  amount: bigint,
  reason: string | null = null,
  account: PublicKey = ataOf(asset, wallet),
) {
  return { account: account.toBase58(), wallet: wallet.toBase58(), asset, amount, reason };
}

/** A transfer out of the stranger's token account, checked. */
function give(
  asset: string,
  to: PublicKey,
  amount: bigint,
  program: PublicKey = TOKEN_PROGRAM_ID,
): TransactionInstruction {
  const owner = exchange.stranger.publicKey;
  const source = ataOf(asset, owner, program);
  return createTransferCheckedInstruction(source, new PublicKey(asset), to, owner, amount, 6, [], program);
}

function openAta(asset: string, owner: PublicKey, program: PublicKey = TOKEN_PROGRAM_ID) {
  const payer = exchange.stranger.publicKey;
  const account = ataOf(asset, owner, program);
  return createAssociatedTokenAccountIdempotentInstruction(
    payer,
    account,
    owner,
    new PublicKey(asset),
    program,
  );
}

/** Opens a token account at an address of its own. */
function openAuxiliary(account: Keypair, owner: PublicKey): TransactionInstruction[] {
  return [
    SystemProgram.createAccount({
      fromPubkey: exchange.stranger.publicKey,
      newAccountPubkey: account.publicKey,
      lamports: 3_000_000,
      space: ACCOUNT_BYTES,
      programId: TOKEN_PROGRAM_ID,
    }),
    createInitializeAccount3Instruction(account.publicKey, new PublicKey(mint), owner),
  ];
}

describe('a deposit', () => {
  it('of many recipients in one transaction is a credit to each, under one signature (private-channels #148)', async () => {
    const { stranger } = exchange;
    const slot = await exchange.land([
      pay(stranger, exchange.alice.publicKey, LAMPORTS),
      pay(stranger, exchange.bob.publicKey, LAMPORTS + 1n),
      pay(stranger, Keypair.generate().publicKey, LAMPORTS),
      openAta(mint, exchange.alice.publicKey),
      give(mint, ataOf(mint, exchange.alice.publicKey), 12n),
    ]);
    expect(await exchange.inflows(slot)).toEqual([
      expect.objectContaining(sol(alice, LAMPORTS)),
      expect.objectContaining(sol(bob, LAMPORTS + 1n)),
      token(exchange.alice.publicKey, mint, 12n),
    ]);
    const { inflows } = await exchange.finding(slot);
    expect(new Set(inflows.map(({ signature }) => signature)).size).toBe(1);
  });

  it('by a transfer inside another program counts, though no instruction of the message moves tokens (FY scanner, private-channels #159)', async () => {
    const owner = exchange.alice.publicKey;
    const main = ataOf(mint, owner);
    const nested = ataOf(mint, main);
    const key = new PublicKey(mint);
    await exchange.land([openAta(mint, owner), openAta(mint, main), give(mint, nested, 70n)]);
    const recover = createRecoverNestedInstruction(nested, key, main, main, key, owner);
    const slot = await exchange.land([recover], { signers: [exchange.alice] });
    expect(recover.programId).not.toEqual(TOKEN_PROGRAM_ID);
    expect(await exchange.inflows(slot)).toContainEqual(token(owner, mint, 70n));
  });

  it('to a recipient whom only a lookup table names is found', async () => {
    const { publicKey } = exchange.alice;
    const slot = await exchange.land([pay(exchange.stranger, publicKey, LAMPORTS)], { table: [publicKey] });
    const shown = await exchange.bench.connection.getBlock(Number(slot), {
      maxSupportedTransactionVersion: 0,
      commitment: 'finalized',
    });
    expect(shown?.transactions[0]?.transaction.message.staticAccountKeys).not.toContainEqual(publicKey);
    expect(await exchange.inflows(slot)).toEqual([sol(alice, LAMPORTS)]);
  });

  it('of a Token-2022 mint with a fee is what arrives (FY scanner)', async () => {
    const { address } = exchange.bench.localnet.feeMint;
    const [owner, program] = [exchange.alice.publicKey, TOKEN_2022_PROGRAM_ID];
    const account = ataOf(address, owner, program);
    const slot = await exchange.land([
      openAta(address, owner, program),
      give(address, account, 1_000_000n, program),
    ]);
    expect(await exchange.inflows(slot)).toEqual([token(owner, address, 990_000n, null, account)]);
  });

  it('by a version-1 transaction is read (FY, SDP, chainstorage)', async () => {
    const { blockhash } = await exchange.bench.connection.getLatestBlockhash('processed');
    const transfer = pay(exchange.stranger, exchange.alice.publicKey, LAMPORTS);
    const { raw } = signVersion1(exchange.stranger, blockhash, [transfer]);
    const slot = await exchange.landRaw(Buffer.from(raw, 'base64'));
    expect((await exchange.block(slot)).transactions).toMatchObject([{ version: 1, error: null }]);
    expect(await exchange.inflows(slot)).toEqual([sol(alice, LAMPORTS)]);
  });

  it('above 2^53 keeps its last digit', async () => {
    const { localnet } = exchange.bench;
    const [odd, most] = [2n ** 53n + 1n, 2n ** 63n + 1n];
    const native = exchange.slotOf(await localnet.airdrop(alice ?? '', odd));
    expect(await exchange.inflows(native)).toEqual([sol(alice, odd)]);
    const tokens = exchange.slotOf(await localnet.mintTo(mint, bob ?? '', most));
    expect(await exchange.inflows(tokens)).toEqual([token(exchange.bob.publicKey, mint, most)]);
  });

  it('is the rent of an account that a stranger closes in our favour, and not of one that we close', async () => {
    const account = Keypair.generate();
    await exchange.land(openAuxiliary(account, exchange.stranger.publicKey), { signers: [account] });
    const { publicKey } = exchange.alice;
    const refund = createCloseAccountInstruction(account.publicKey, publicKey, exchange.stranger.publicKey);
    expect(await exchange.inflows(await exchange.land([refund]))).toEqual([sol(alice, 3_000_000n)]);

    const own = Keypair.generate();
    await exchange.land(openAuxiliary(own, publicKey), { signers: [own] });
    const ownRefund = createCloseAccountInstruction(own.publicKey, publicKey, publicKey);
    const slot = await exchange.land([ownRefund], { signers: [exchange.alice] });
    expect(await exchange.inflows(slot)).toEqual([sol(alice, 3_000_000n, 'internal')]);
  });

  it('whose fee our own wallet pays is credited all the same', async () => {
    const transfer = pay(exchange.stranger, exchange.alice.publicKey, LAMPORTS);
    const slot = await exchange.land([transfer], { payer: exchange.hot, signers: [exchange.stranger] });
    const { inflows, spends } = await exchange.finding(slot);
    expect(inflows).toMatchObject([{ wallet: alice, amount: LAMPORTS, reason: null }]);
    expect(spends).toMatchObject([{ wallet: exchange.hot.publicKey.toBase58(), error: null }]);
  });
});

describe('no deposit', () => {
  it('is a transaction that failed (private-channels #177 and #183)', async () => {
    const { stranger } = exchange;
    const slot = await exchange.land([
      pay(stranger, exchange.alice.publicKey, LAMPORTS),
      pay(stranger, exchange.bob.publicKey, 10n ** 18n),
    ]);
    const { transactions } = await exchange.block(slot);
    expect(transactions[0]?.error).toContain('InstructionError');
    expect(await exchange.inflows(slot)).toEqual([]);
  });

  it('is a transaction that was included and never executed', async () => {
    exchange.bench.localnet.controls.includeUnpayable(true);
    const transfer = pay(exchange.pauper, exchange.alice.publicKey, LAMPORTS);
    const slot = await exchange.land([transfer], { payer: exchange.pauper });
    exchange.bench.localnet.controls.includeUnpayable(false);
    expect((await exchange.block(slot)).transactions).toMatchObject([
      { error: 'AccountNotFound', feeLamports: 0n },
    ]);
    expect(await exchange.finding(slot)).toEqual({ inflows: [], outflows: [], spends: [] });
  });

  it('is a token of another mint, whatever it calls itself', async () => {
    const { localnet } = exchange.bench;
    const fake = await localnet.createToken22Mint();
    const slot = exchange.slotOf(await localnet.mintTo(fake, alice ?? '', 1_000_000n));
    const account = ataOf(fake, exchange.alice.publicKey, TOKEN_2022_PROGRAM_ID);
    expect(await exchange.inflows(slot)).toEqual([
      token(exchange.alice.publicKey, fake, 1_000_000n, 'unknown_mint', account),
    ]);
  });

  it('is what lies in a token account that is not the associated one', async () => {
    const account = Keypair.generate();
    const { publicKey } = exchange.alice;
    const slot = await exchange.land(
      [...openAuxiliary(account, publicKey), give(mint, account.publicKey, 50n)],
      { signers: [account] },
    );
    expect(await exchange.inflows(slot)).toEqual([
      token(publicKey, mint, 50n, 'not_associated_account', account.publicKey),
    ]);
  });

  it('is a token account that is handed over, taken back and handed over again (liminalcustody.com, 2026-03)', async () => {
    const account = Keypair.generate();
    const [stranger, wallet] = [exchange.stranger.publicKey, exchange.alice.publicKey];
    const hand = (from: PublicKey, to: PublicKey) =>
      createSetAuthorityInstruction(account.publicKey, from, AuthorityType.AccountOwner, to);
    await exchange.land([...openAuxiliary(account, stranger), give(mint, account.publicKey, 50n)], {
      signers: [account],
    });
    const over = await exchange.land([hand(stranger, wallet)]);
    const handed = token(wallet, mint, 50n, 'owner_changed', account.publicKey);
    expect(await exchange.inflows(over)).toEqual([handed]);
    expect(await exchange.inflows(over, { ownerChangeAllowed: true })).toEqual([{ ...handed, reason: null }]);

    const back = await exchange.land([hand(wallet, stranger)], { signers: [exchange.alice] });
    expect(await exchange.finding(back)).toMatchObject({
      inflows: [],
      outflows: [{ account: account.publicKey.toBase58(), wallet: alice, asset: mint, amount: 50n }],
    });
    const both = [give(mint, account.publicKey, 1n), hand(stranger, wallet)];
    expect(await exchange.inflows(await exchange.land(both))).toEqual([{ ...handed, amount: 51n }]);
    const round = [hand(wallet, stranger), give(mint, account.publicKey, 9n), hand(stranger, wallet)];
    const slot = await exchange.land(round, { signers: [exchange.alice] });
    expect(await exchange.inflows(slot)).toEqual([
      { ...handed, amount: 9n, reason: 'not_associated_account' },
    ]);
  });

  it('is what a permanent delegate takes back in the same transaction (private-channels #125)', async () => {
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
    const open = openAta(seized, owner, program);
    const whole = await exchange.land([open, give(seized, account, 500n, program), takeBack(500n)]);
    expect(await exchange.inflows(whole)).toEqual([]);
    const part = await exchange.land([give(seized, account, 500n, program), takeBack(400n)]);
    expect(await exchange.inflows(part)).toEqual([token(owner, seized, 100n, null, account)]);
    const later = await exchange.finding(await exchange.land([takeBack(100n)]));
    expect(later).toMatchObject({ inflows: [], outflows: [{ wallet: alice, amount: 100n }] });
  });

  it('of SOL is wrapped SOL, which is an asset of its own', async () => {
    const owner = exchange.alice.publicKey;
    const wrapped = NATIVE_MINT.toBase58();
    const account = ataOf(wrapped, owner);
    const slot = await exchange.land([
      openAta(wrapped, owner),
      pay(exchange.stranger, account, LAMPORTS),
      createSyncNativeInstruction(account),
    ]);
    expect(await exchange.inflows(slot)).toEqual([token(owner, wrapped, LAMPORTS, 'unknown_mint')]);
  });

  it('is a transfer to oneself, of SOL or of tokens', async () => {
    const { publicKey } = exchange.alice;
    const account = ataOf(mint, publicKey);
    await exchange.land([openAta(mint, publicKey), give(mint, account, 5n)]);
    const itself = createTransferCheckedInstruction(account, new PublicKey(mint), account, publicKey, 5n, 6);
    const slot = await exchange.land([pay(exchange.alice, publicKey, LAMPORTS), itself], {
      signers: [exchange.alice],
    });
    expect((await exchange.block(slot)).transactions).toMatchObject([{ error: null }]);
    expect(await exchange.finding(slot)).toEqual({ inflows: [], outflows: [], spends: [] });
  });

  it('is what our own wallets move between them, nor what comes to a hot wallet', async () => {
    const hot = exchange.hot.publicKey;
    const sweep = await exchange.land([pay(exchange.bob, hot, LAMPORTS)], { signers: [exchange.bob] });
    expect(await exchange.finding(sweep)).toMatchObject({
      inflows: [{ wallet: hot.toBase58(), amount: LAMPORTS, reason: 'internal' }],
      outflows: [{ wallet: bob, amount: LAMPORTS }],
    });
    const refill = await exchange.land([pay(exchange.stranger, hot, LAMPORTS)]);
    expect(await exchange.inflows(refill)).toEqual([sol(hot.toBase58(), LAMPORTS, 'hot_wallet')]);
  });
});

it('what a hot wallet signed and failed to do is on record, with its fee', async () => {
  const wallet = exchange.hot.publicKey.toBase58();
  const transfer = pay(exchange.hot, Keypair.generate().publicKey, 10n ** 18n);
  const finding = await exchange.finding(await exchange.land([transfer], { payer: exchange.hot }));
  expect(finding).toMatchObject({
    inflows: [],
    outflows: [{ wallet, asset: 'SOL', amount: 5_000n }],
    spends: [{ wallet, error: expect.stringContaining('InstructionError') }],
  });
});

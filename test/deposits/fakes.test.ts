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
import { TOKEN_2022_PROGRAM } from '../../src/solana/programs.ts';
import { ataOf, pay, sol, token, useExchange } from './fakes-support.ts';

const LAMPORTS = 5_000_000n;

const use = useExchange();

describe('no deposit', () => {
  it('is a transaction that failed (private-channels #177 and #183)', async () => {
    const { stranger } = use.exchange;
    const slot = await use.exchange.land([
      pay(stranger, use.exchange.alice.publicKey, LAMPORTS),
      pay(stranger, use.exchange.bob.publicKey, 10n ** 18n),
    ]);
    const { transactions } = await use.exchange.block(slot);
    expect(transactions[0]?.error).toContain('InstructionError');
    expect(await use.exchange.inflows(slot)).toEqual([]);
  });

  it('is a transaction that was included and never executed', async () => {
    use.exchange.bench.localnet.controls.includeUnpayable(true);
    const transfer = pay(use.exchange.pauper, use.exchange.alice.publicKey, LAMPORTS);
    const slot = await use.exchange.land([transfer], { payer: use.exchange.pauper });
    use.exchange.bench.localnet.controls.includeUnpayable(false);
    expect((await use.exchange.block(slot)).transactions).toMatchObject([
      { error: 'AccountNotFound', feeLamports: 0n },
    ]);
    expect(await use.exchange.finding(slot)).toEqual({ inflows: [], outflows: [], spends: [] });
  });

  it('is a token of another mint, whatever it calls itself', async () => {
    const { localnet } = use.exchange.bench;
    const fake = await localnet.createToken22Mint();
    const slot = use.exchange.slotOf(
      await localnet.mintTo(fake, use.exchange.alice.publicKey.toBase58(), 1_000_000n),
    );
    const account = ataOf(fake, use.exchange.alice.publicKey, TOKEN_2022_PROGRAM_ID);
    expect(await use.exchange.inflows(slot)).toEqual([
      token(use.exchange.alice.publicKey, fake, 1_000_000n, 'unknown_mint', account),
    ]);
  });

  it('is what lies in a token account that is not the associated one', async () => {
    const account = Keypair.generate();
    const { publicKey } = use.exchange.alice;
    const slot = await use.exchange.land(
      [
        ...use.exchange.openAuxiliary(account, publicKey),
        use.exchange.give(use.exchange.mint, account.publicKey, 50n),
      ],
      { signers: [account] },
    );
    expect(await use.exchange.inflows(slot)).toEqual([
      token(publicKey, use.exchange.mint, 50n, 'not_associated_account', account.publicKey),
    ]);
  });

  it('is a token account that is handed over, taken back and handed over again (liminalcustody.com, 2026-03)', async () => {
    const account = Keypair.generate();
    const [stranger, wallet] = [use.exchange.stranger.publicKey, use.exchange.alice.publicKey];
    const hand = (from: PublicKey, to: PublicKey) =>
      createSetAuthorityInstruction(account.publicKey, from, AuthorityType.AccountOwner, to);
    await use.exchange.land(
      [
        ...use.exchange.openAuxiliary(account, stranger),
        use.exchange.give(use.exchange.mint, account.publicKey, 50n),
      ],
      {
        signers: [account],
      },
    );
    const over = await use.exchange.land([hand(stranger, wallet)]);
    const handed = token(wallet, use.exchange.mint, 50n, 'owner_changed', account.publicKey);
    expect(await use.exchange.inflows(over)).toEqual([handed]);
    expect(await use.exchange.inflows(over, { ownerChangeAllowed: true })).toEqual([
      { ...handed, reason: null },
    ]);

    const back = await use.exchange.land([hand(wallet, stranger)], { signers: [use.exchange.alice] });
    expect(await use.exchange.finding(back)).toMatchObject({
      inflows: [],
      outflows: [
        {
          account: account.publicKey.toBase58(),
          wallet: use.exchange.alice.publicKey.toBase58(),
          asset: use.exchange.mint,
          amount: 50n,
        },
      ],
    });
    const both = [use.exchange.give(use.exchange.mint, account.publicKey, 1n), hand(stranger, wallet)];
    expect(await use.exchange.inflows(await use.exchange.land(both))).toEqual([{ ...handed, amount: 51n }]);
    const round = [
      hand(wallet, stranger),
      use.exchange.give(use.exchange.mint, account.publicKey, 9n),
      hand(stranger, wallet),
    ];
    const slot = await use.exchange.land(round, { signers: [use.exchange.alice] });
    expect(await use.exchange.inflows(slot)).toEqual([
      { ...handed, amount: 9n, reason: 'not_associated_account' },
    ]);
  });

  it('is what a permanent delegate takes back in the same transaction (private-channels #125)', async () => {
    const [stranger, program] = [use.exchange.stranger.publicKey, TOKEN_2022_PROGRAM_ID];
    const seized = await use.exchange.bench.localnet.createToken22Mint({
      extensions: [
        {
          type: ExtensionType.PermanentDelegate,
          initialize: (key) => createInitializePermanentDelegateInstruction(key, stranger, program),
        },
      ],
    });
    const terms = { decimals: 6, minimumDeposit: 1n, depositsOn: true };
    use.exchange.assets.push({ ...terms, asset: seized, program: TOKEN_2022_PROGRAM });
    await use.exchange.bench.localnet.mintTo(seized, stranger.toBase58(), 1_000n);
    const owner = use.exchange.alice.publicKey;
    const account = ataOf(seized, owner, program);
    const key = new PublicKey(seized);
    const home = ataOf(seized, stranger, program);
    const takeBack = (amount: bigint) =>
      createTransferCheckedInstruction(account, key, home, stranger, amount, 6, [], program);
    const open = use.exchange.openAta(seized, owner, program);
    const whole = await use.exchange.land([
      open,
      use.exchange.give(seized, account, 500n, program),
      takeBack(500n),
    ]);
    expect(await use.exchange.inflows(whole)).toEqual([]);
    const part = await use.exchange.land([use.exchange.give(seized, account, 500n, program), takeBack(400n)]);
    expect(await use.exchange.inflows(part)).toEqual([token(owner, seized, 100n, null, account)]);
    const later = await use.exchange.finding(await use.exchange.land([takeBack(100n)]));
    expect(later).toMatchObject({
      inflows: [],
      outflows: [{ wallet: use.exchange.alice.publicKey.toBase58(), amount: 100n }],
    });
  });

  it('of SOL is wrapped SOL, which is an asset of its own', async () => {
    const owner = use.exchange.alice.publicKey;
    const wrapped = NATIVE_MINT.toBase58();
    const account = ataOf(wrapped, owner);
    const slot = await use.exchange.land([
      use.exchange.openAta(wrapped, owner),
      pay(use.exchange.stranger, account, LAMPORTS),
      createSyncNativeInstruction(account),
    ]);
    expect(await use.exchange.inflows(slot)).toEqual([token(owner, wrapped, LAMPORTS, 'unknown_mint')]);
  });

  it('is a transfer to oneself, of SOL or of tokens', async () => {
    const { publicKey } = use.exchange.alice;
    const account = ataOf(use.exchange.mint, publicKey);
    await use.exchange.land([
      use.exchange.openAta(use.exchange.mint, publicKey),
      use.exchange.give(use.exchange.mint, account, 5n),
    ]);
    const itself = createTransferCheckedInstruction(
      account,
      new PublicKey(use.exchange.mint),
      account,
      publicKey,
      5n,
      6,
    );
    const slot = await use.exchange.land([pay(use.exchange.alice, publicKey, LAMPORTS), itself], {
      signers: [use.exchange.alice],
    });
    expect((await use.exchange.block(slot)).transactions).toMatchObject([{ error: null }]);
    expect(await use.exchange.finding(slot)).toEqual({ inflows: [], outflows: [], spends: [] });
  });

  it('is what our own wallets move between them, nor what comes to a hot wallet', async () => {
    const hot = use.exchange.hot.publicKey;
    const sweep = await use.exchange.land([pay(use.exchange.bob, hot, LAMPORTS)], {
      signers: [use.exchange.bob],
    });
    expect(await use.exchange.finding(sweep)).toMatchObject({
      inflows: [{ wallet: hot.toBase58(), amount: LAMPORTS, reason: 'internal' }],
      outflows: [{ wallet: use.exchange.bob.publicKey.toBase58(), amount: LAMPORTS }],
    });
    const refill = await use.exchange.land([pay(use.exchange.stranger, hot, LAMPORTS)]);
    expect(await use.exchange.inflows(refill)).toEqual([sol(hot, LAMPORTS, 'hot_wallet')]);
  });
});

it('what a hot wallet signed and failed to do is on record, with its fee', async () => {
  const wallet = use.exchange.hot.publicKey.toBase58();
  const transfer = pay(use.exchange.hot, Keypair.generate().publicKey, 10n ** 18n);
  const finding = await use.exchange.finding(
    await use.exchange.land([transfer], { payer: use.exchange.hot }),
  );
  expect(finding).toMatchObject({
    inflows: [],
    outflows: [{ wallet, asset: 'SOL', amount: 5_000n }],
    spends: [{ wallet, error: expect.stringContaining('InstructionError') }],
  });
});

import { describe, expect, it } from 'vitest';
import { NATIVE_MINT } from '../../../src/shims/spl-token.ts';
import type { MintInfo } from '../../../src/solana/tokens/mint.ts';
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { mintRefusal, recipientRefusal, walletRefusal } from '../../../src/x402/rules/mint-policy.ts';
import { MINT, SELLER, STRANGER } from './buyer.ts';

const classic: MintInfo = {
  address: MINT,
  program: TOKEN_PROGRAM,
  decimals: 6,
  extensions: [],
  transferFee: null,
  freezeAuthority: STRANGER,
  permanentDelegate: null,
  hookProgram: null,
  defaultFrozen: false,
  paused: false,
  ataSize: 165,
};
const with2022 = (extension: string, more: Partial<MintInfo> = {}): MintInfo => ({
  ...classic,
  program: TOKEN_2022_PROGRAM,
  extensions: ['metadataPointer', 'tokenMetadata', extension],
  ...more,
});

/** A fee of so many basis points now, and from a later epoch on. */
function feeOf(now: number, later: number): Partial<MintInfo> {
  const fee = (transferFeeBasisPoints: number) => ({ epoch: 1n, maximumFee: 9n, transferFeeBasisPoints });
  const transferFee = { olderTransferFee: fee(now), newerTransferFee: fee(later) };
  return { transferFee: transferFee as MintInfo['transferFee'] };
}

describe('a mint in a price', () => {
  it('may belong to the Token program, and may be wrapped SOL', () => {
    expect(mintRefusal(classic)).toBeNull();
    expect(mintRefusal({ ...classic, address: NATIVE_MINT.toBase58() })).toBeNull();
  });

  it.each([
    ['a transfer fee of zero', with2022('transferFeeConfig', feeOf(0, 0))],
    ['a transfer hook without a program', with2022('transferHook')],
    ['new accounts that can be frozen later', with2022('defaultAccountState')],
    ['interest that only affects the display', with2022('interestBearingConfig')],
    ['an authority that can close the mint', with2022('mintCloseAuthority')],
  ])('may belong to Token-2022 with %s', (_name, mint) => {
    expect(mintRefusal(mint)).toBeNull();
  });

  it.each([
    ['transfer_fee', with2022('transferFeeConfig', feeOf(100, 0))],
    ['transfer_fee', with2022('transferFeeConfig', feeOf(0, 1))],
    ['transfer_hook', with2022('transferHook', { hookProgram: STRANGER })],
    ['extension_permanentDelegate', with2022('permanentDelegate')],
    ['extension_pausableConfig', with2022('pausableConfig')],
    ['extension_nonTransferable', with2022('nonTransferable')],
    ['extension_confidentialTransferMint', with2022('confidentialTransferMint')],
    ['extension_unknown:99', with2022('unknown:99')],
    ['default_frozen', with2022('defaultAccountState', { defaultFrozen: true })],
  ])('is refused for %s', (code, mint) => {
    expect(mintRefusal(mint)).toMatchObject({ code, message: expect.any(String) });
  });

  it("may be allowed by the operator's policy, except with a hook program", () => {
    expect(mintRefusal(with2022('permanentDelegate'), { permanentDelegate: 'allow' })).toBeNull();
    expect(
      mintRefusal(with2022('transferFeeConfig', feeOf(1, 1)), { transferFeeConfig: 'allow' }),
    ).toBeNull();
    const hooked = with2022('transferHook', { hookProgram: STRANGER });
    expect(mintRefusal(hooked, { transferHook: 'allow' })).toMatchObject({ code: 'transfer_hook' });
    const paused = with2022('pausableConfig', { paused: true });
    expect(mintRefusal(paused, { pausableConfig: 'inspect' })).toMatchObject({ code: 'mint_paused' });
  });
});

describe('the token account of a seller', () => {
  const account = {
    owner: SELLER,
    mint: MINT,
    amount: 0n,
    frozen: false,
    memoRequired: false,
    acceptsTransfers: true,
    pendingCredits: 0n,
  };

  it('can be paid', () => {
    expect(recipientRefusal(classic, account, SELLER)).toBeNull();
  });

  it.each([
    ['no_token_account', null],
    ['memo_required', { ...account, memoRequired: true }],
    ['account_frozen', { ...account, frozen: true }],
    ['account_given_away', { ...account, owner: STRANGER }],
    ['confidential_only', { ...account, acceptsTransfers: false }],
  ])('cannot be paid: %s', (code, found) => {
    expect(recipientRefusal(classic, found, SELLER)).toMatchObject({ code });
  });

  it('cannot be paid in a refused mint', () => {
    expect(recipientRefusal(with2022('nonTransferable'), account, SELLER)).toMatchObject({
      code: 'extension_nonTransferable',
    });
  });
});

describe('the wallet of a seller', () => {
  const accountOf = (owner: string, bytes: number) => ({
    lamports: 1n,
    owner,
    data: new Uint8Array(bytes),
    executable: false,
  });

  it.each([
    ['has no account yet', null],
    ['belongs to the system program', accountOf(SYSTEM_PROGRAM, 0)],
    ['belongs to another program', accountOf(STRANGER, 165)],
    ['is a multisig of a token program', accountOf(TOKEN_PROGRAM, 355)],
  ])('is an address that %s', (_what, account) => {
    expect(walletRefusal(SELLER, account)).toBeNull();
  });

  it.each([
    ['a token account', accountOf(TOKEN_PROGRAM, 165)],
    ['a token account of Token-2022', accountOf(TOKEN_2022_PROGRAM, 170)],
    ['a mint', accountOf(TOKEN_PROGRAM, 82)],
  ])('is never %s', (_what, account) => {
    expect(walletRefusal(SELLER, account)).toMatchObject({ code: 'not_a_wallet' });
  });
});

import {
  AccountState,
  createInitializeDefaultAccountStateInstruction,
  createInitializeMintCloseAuthorityInstruction,
  createInitializeNonTransferableMintInstruction,
  createInitializePermanentDelegateInstruction,
  createInitializeTransferHookInstruction,
  ExtensionType,
  getExtraAccountMetaAddress,
  NATIVE_MINT,
  NATIVE_MINT_2022,
} from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import type { Chain } from '../../src/solana/chain.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { resolveHookAccounts } from '../../src/solana/tokens/hooks.ts';
import { type MintInfo, readMint, transferFee } from '../../src/solana/tokens/mint.ts';
import { readTokenAccount, type TokenAccountInfo } from '../../src/solana/tokens/token-account.ts';
import { extensionEntries } from '../../src/solana/tokens/token-extensions.ts';
import { tokenPolicy } from '../../src/solana/tokens/token-policy.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { quickChain } from '../support/quick-chain.ts';

const OWNER = Keypair.generate().publicKey.toBase58();
const PROGRAM = new PublicKey(TOKEN_2022_PROGRAM);
let localnet: Localnet;
let pool: NodePool;
let chain: Chain;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 1 });
  pool = await openNodePool(localnet.rpcUrls);
  chain = quickChain(pool);
});
afterAll(async () => {
  await pool.close();
  await localnet.close();
});

async function mintWith(options: Parameters<Localnet['createToken22Mint']>[0]): Promise<MintInfo> {
  return read(await localnet.createToken22Mint(options));
}

async function read(address: string): Promise<MintInfo> {
  return readMint(address, (await chain.accounts([address])).accounts[0] ?? null);
}

/** The account that the chain really makes for a mint. */
async function accountOf(mint: MintInfo): Promise<{ size: number; info: TokenAccountInfo | null }> {
  const owner = Keypair.generate().publicKey.toBase58();
  await localnet.mintTo(mint.address, owner, 5n);
  const ata = deriveAta(owner, mint.address, mint.program);
  const [account = null] = (await chain.accounts([ata])).accounts;
  return { size: account?.data.length ?? 0, info: readTokenAccount(ata, account) };
}

const delegate = (type: ExtensionType, initialize: (mint: PublicKey) => ReturnType<typeof hookOf>) => ({
  extensions: [{ type, initialize }],
});
const HOOK = Keypair.generate().publicKey;
const WRAPPED: MintInfo = {
  address: '',
  program: TOKEN_PROGRAM,
  decimals: 9,
  extensions: [],
  freezeAuthority: null,
  permanentDelegate: null,
  transferFee: null,
  hookProgram: null,
  defaultFrozen: false,
  paused: false,
  ataSize: 165,
};
const hookOf = (mint: PublicKey, hook = HOOK) =>
  createInitializeTransferHookInstruction(mint, new PublicKey(OWNER), hook, PROGRAM);

describe('the mint reader', () => {
  it('returns the account size that the extensions of a mint require', async () => {
    const plain = await read(localnet.mint.address);
    expect(plain).toMatchObject({ program: TOKEN_PROGRAM, decimals: 6, extensions: [], ataSize: 165 });
    for (const mint of [plain, await read(localnet.feeMint.address), await mintWith({})]) {
      const { size, info } = await accountOf(mint);
      expect(size).toBe(mint.ataSize);
      expect(info).toMatchObject({ mint: mint.address, amount: 5n, frozen: false, memoRequired: false });
    }
    const hooked = await mintWith(delegate(ExtensionType.TransferHook, (mint) => hookOf(mint)));
    expect((await accountOf(hooked)).size).toBe(hooked.ataSize);
  });

  it('refuses an address that holds no mint', async () => {
    await expect(read(OWNER)).rejects.toMatchObject({ code: 'AssetRejected' });
    await localnet.airdrop(OWNER, 1_000_000_000n);
    await expect(read(OWNER)).rejects.toMatchObject({ code: 'AssetRejected' });
  });

  it('computes the transfer fee, rounded up and bounded', async () => {
    const mint = await read(localnet.feeMint.address);
    expect(transferFee(mint, 100n, 0n)).toBe(1n);
    expect(transferFee(mint, 101n, 0n)).toBe(2n);
    expect(transferFee(mint, 2n ** 64n - 1n, 0n)).toBe(mint.transferFee?.newerTransferFee.maximumFee);
    expect(transferFee(await mintWith({}), 100n, 0n)).toBeNull();
  });
});

describe('the extension policy', () => {
  it.each([
    [
      true,
      ExtensionType.MintCloseAuthority,
      (mint: PublicKey) => createInitializeMintCloseAuthorityInstruction(mint, HOOK, PROGRAM),
    ],
    [
      true,
      ExtensionType.PermanentDelegate,
      (mint: PublicKey) => createInitializePermanentDelegateInstruction(mint, HOOK, PROGRAM),
    ],
    [true, ExtensionType.TransferHook, (mint: PublicKey) => hookOf(mint, PublicKey.default)],
    ['transfer_hook', ExtensionType.TransferHook, (mint: PublicKey) => hookOf(mint)],
    [
      'extension_nonTransferable',
      ExtensionType.NonTransferable,
      (mint: PublicKey) => createInitializeNonTransferableMintInstruction(mint, PROGRAM),
    ],
    [
      'default_frozen',
      ExtensionType.DefaultAccountState,
      (mint: PublicKey) => createInitializeDefaultAccountStateInstruction(mint, AccountState.Frozen, PROGRAM),
    ],
  ] as const)('returns %s for type %i', async (expected, type, initialize) => {
    const verdict = tokenPolicy(await mintWith(delegate(type, initialize)), null, OWNER);
    if (expected === true) expect(verdict).toMatchObject({ ok: true, createAta: true });
    else expect(verdict).toMatchObject({ ok: false, reason: { code: expected } });
  });

  it('can be changed by a setting, but never accepts an unknown extension', async () => {
    const mint = await mintWith(
      delegate(ExtensionType.PermanentDelegate, (at) =>
        createInitializePermanentDelegateInstruction(at, HOOK, PROGRAM),
      ),
    );
    expect(tokenPolicy(mint, null, OWNER, { permanentDelegate: 'reject' })).toMatchObject({ ok: false });
    const strange = { ...mint, extensions: ['unknown:99'] };
    expect(tokenPolicy(strange, null, OWNER)).toMatchObject({ reason: { code: 'extension_unknown:99' } });
    expect(tokenPolicy({ ...mint, paused: true }, null, OWNER)).toMatchObject({
      reason: { code: 'mint_paused' },
    });
  });

  it.each([NATIVE_MINT, NATIVE_MINT_2022])(
    'treats wrapped SOL %s as a separate asset, off by default',
    (at) => {
      const mint = { ...WRAPPED, address: at.toBase58() };
      expect(tokenPolicy(mint, null, OWNER)).toMatchObject({ ok: false, reason: { code: 'wrapped_sol' } });
      expect(tokenPolicy(mint, null, OWNER, { wrappedSol: 'inspect' })).toMatchObject({ ok: false });
      expect(tokenPolicy(mint, null, OWNER, { wrappedSol: 'allow' })).toMatchObject({ ok: true });
    },
  );

  it('checks the account of the destination', async () => {
    const mint = await read(localnet.mint.address);
    const account: TokenAccountInfo = {
      owner: OWNER,
      mint: mint.address,
      amount: 0n,
      frozen: false,
      memoRequired: true,
      acceptsTransfers: true,
      pendingCredits: 0n,
    };
    expect(tokenPolicy(mint, account, OWNER)).toMatchObject({
      ok: true,
      createAta: false,
      memoRequired: true,
    });
    const code = (changes: Partial<TokenAccountInfo>): unknown =>
      tokenPolicy(mint, { ...account, ...changes }, OWNER);
    expect(code({ frozen: true })).toMatchObject({ reason: { code: 'account_frozen' } });
    expect(code({ owner: mint.address })).toMatchObject({ reason: { code: 'account_given_away' } });
    expect(code({ acceptsTransfers: false })).toMatchObject({
      mayPass: true,
      reason: { code: 'confidential_only' },
    });
    const frozenByDefault = { ...mint, defaultFrozen: true };
    expect(tokenPolicy(frozenByDefault, account, OWNER)).toMatchObject({ ok: true });
  });

  it('finds the accounts of a hook without a list on the chain', async () => {
    const mint = await mintWith(delegate(ExtensionType.TransferHook, (at) => hookOf(at)));
    expect(tokenPolicy(mint, null, OWNER, { transferHook: 'allow' })).toMatchObject({
      ok: true,
    });
    const list = getExtraAccountMetaAddress(new PublicKey(mint.address), HOOK).toBase58();
    expect((await chain.accounts([list])).accounts).toEqual([null]);
    const destination = Keypair.generate().publicKey.toBase58();
    const transfer = { source: OWNER, destination, amount: 1n, createAta: true };
    const program = { address: HOOK.toBase58(), writable: false };
    expect(await resolveHookAccounts(chain, mint, transfer)).toEqual([program]);
    // Lamports sent to the address of the list change nothing.
    await localnet.airdrop(list, 1_000_000_000n);
    expect(await resolveHookAccounts(chain, mint, transfer)).toEqual([program]);
  });
});

describe('extension entries', () => {
  it('end at padding and refuse a length past the end', () => {
    expect(extensionEntries(Uint8Array.of(7, 0, 0, 0, 8, 0, 1, 0, 1))).toHaveLength(2);
    expect(extensionEntries(Uint8Array.of(7, 0, 0, 0, 0, 0, 0, 0))).toHaveLength(1);
    expect(extensionEntries(Uint8Array.of(8, 0, 9, 0, 1))).toBeNull();
  });
});

import { PublicKey, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createFreezeAccountInstruction,
  createInitializeMint2Instruction,
  createInitializePausableConfigInstruction,
  createInitializeTransferFeeConfigInstruction,
  createMintToInstruction,
  createPauseInstruction,
  createResumeInstruction,
  createThawAccountInstruction,
  ExtensionType,
  getAssociatedTokenAddressSync,
  getMintLen,
  MINT_SIZE,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '../../src/shims/spl-token.ts';
import type { Chain } from './chain/chain.ts';
import { SYSTEM_PROGRAM } from './chain/programs.ts';
import { newWallet, submitSigned, type Wallet } from './wallet.ts';

const FAUCET_LAMPORTS = 500_000_000_000_000_000n;
const RENT_EXEMPT_EPOCH = 18446744073709551615n;

/** Devnet's USDC, planted with an authority of this chain so that clients that know its address can be paid. */
export const PLANTED_MINT = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU';
export const FEE_BASIS_POINTS = 100;
const MAXIMUM_FEE = 1_000_000_000_000n;
export const DECIMALS = 6;

/** Writes a wallet with this balance past the runtime; for genesis only. */
export function fund(chain: Chain, address: string, lamports: bigint): void {
  const data = new Uint8Array(0);
  chain.vm.setAccount(address, {
    lamports,
    owner: SYSTEM_PROGRAM,
    data,
    executable: false,
    rentEpoch: RENT_EXEMPT_EPOCH,
  });
}

/** A faucet with more lamports than any test needs. */
export function createFaucet(chain: Chain): Wallet {
  const faucet = newWallet();
  fund(chain, faucet.address, FAUCET_LAMPORTS);
  return faucet;
}

function openMint(
  chain: Chain,
  payer: Wallet,
  mint: Wallet,
  size: number,
  program: PublicKey,
): TransactionInstruction {
  return SystemProgram.createAccount({
    fromPubkey: payer.publicKey,
    newAccountPubkey: mint.publicKey,
    lamports: Number(chain.vm.rentMinimum(BigInt(size))),
    space: size,
    programId: program,
  });
}

/** Queues the creation of a mint of the Token program; gives its address. */
export function createMint(chain: Chain, authority: Wallet): string {
  const mint = newWallet();
  const open = openMint(chain, authority, mint, MINT_SIZE, TOKEN_PROGRAM_ID);
  const initialize = createInitializeMint2Instruction(
    mint.publicKey,
    DECIMALS,
    authority.publicKey,
    authority.publicKey,
  );
  submitSigned(chain, [open, initialize], [authority, mint]);
  return mint.address;
}

/** Set-up of one extension of a new Token-2022 mint. */
export type MintExtension = {
  readonly type: ExtensionType;
  readonly initialize: (mint: PublicKey) => TransactionInstruction;
};

/** Queues the creation of a Token-2022 mint with extensions; gives its address. */
export function createToken2022Mint(
  chain: Chain,
  authority: Wallet,
  extensions: readonly MintExtension[],
): string {
  const mint = newWallet();
  const size = getMintLen(extensions.map((item) => item.type));
  const instructions = [
    openMint(chain, authority, mint, size, TOKEN_2022_PROGRAM_ID),
    ...extensions.map((item) => item.initialize(mint.publicKey)),
    createInitializeMint2Instruction(
      mint.publicKey,
      DECIMALS,
      authority.publicKey,
      authority.publicKey,
      TOKEN_2022_PROGRAM_ID,
    ),
  ];
  submitSigned(chain, instructions, [authority, mint]);
  return mint.address;
}

/** A transfer fee of `basisPoints`. */
export function transferFeeExtension(authority: Wallet, basisPoints: number): MintExtension {
  return {
    type: ExtensionType.TransferFeeConfig,
    initialize: (mint) =>
      createInitializeTransferFeeConfigInstruction(
        mint,
        authority.publicKey,
        authority.publicKey,
        basisPoints,
        MAXIMUM_FEE,
        TOKEN_2022_PROGRAM_ID,
      ),
  };
}

/** Lets `authority` pause and resume all transfers. */
export function pausableExtension(authority: Wallet): MintExtension {
  return {
    type: ExtensionType.PausableConfig,
    initialize: (mint) =>
      createInitializePausableConfigInstruction(mint, authority.publicKey, TOKEN_2022_PROGRAM_ID),
  };
}

/** Queues the pausing or resuming of a pausable mint; gives the signature. */
export function setPaused(chain: Chain, authority: Wallet, mint: string, paused: boolean): string {
  const change = paused ? createPauseInstruction : createResumeInstruction;
  return submitSigned(chain, [change(new PublicKey(mint), authority.publicKey)], [authority]);
}

/** Copies the bytes of a mint to the address of devnet's USDC, which nobody here can create: there is no key for it. */
export function plantMint(chain: Chain, template: string): void {
  const account = chain.vm.account(template);
  if (!account) throw new Error(`there is no mint ${template}`);
  chain.vm.setAccount(PLANTED_MINT, account);
}

/** Queues the minting of base units to the ATA of `owner`, which is created where absent; gives the signature. */
export function mintTo(chain: Chain, authority: Wallet, mint: string, owner: string, amount: bigint): string {
  const { open, account, mintKey, program } = ataOf(chain, authority, mint, owner);
  const give = createMintToInstruction(mintKey, account, authority.publicKey, amount, [], program);
  return submitSigned(chain, [open, give], [authority]);
}

/** Queues the freezing or thawing of the ATA of `owner`, which is created where absent; gives the signature. */
export function setFrozen(
  chain: Chain,
  authority: Wallet,
  mint: string,
  owner: string,
  frozen: boolean,
): string {
  const { open, account, mintKey, program } = ataOf(chain, authority, mint, owner);
  const change = frozen ? createFreezeAccountInstruction : createThawAccountInstruction;
  return submitSigned(chain, [open, change(account, mintKey, authority.publicKey, [], program)], [authority]);
}

function ataOf(chain: Chain, payer: Wallet, mint: string, owner: string) {
  const program = new PublicKey(chain.vm.account(mint)?.owner ?? TOKEN_PROGRAM_ID.toBase58());
  const [mintKey, ownerKey] = [new PublicKey(mint), new PublicKey(owner)];
  const account = getAssociatedTokenAddressSync(mintKey, ownerKey, true, program);
  const open = createAssociatedTokenAccountIdempotentInstruction(
    payer.publicKey,
    account,
    ownerKey,
    mintKey,
    program,
  );
  return { open, account, mintKey, program };
}

import type { PublicKey, TransactionInstruction } from '@solana/web3.js';
import {
  createInitializePausableConfigInstruction,
  createInitializeTransferFeeConfigInstruction,
  ExtensionType,
  TOKEN_2022_PROGRAM_ID,
} from '../../src/shims/spl-token.ts';
import type { SimulatedChain } from './chain/chain.ts';
import { SYSTEM_PROGRAM } from './chain/programs.ts';
import { newWallet, type Wallet } from './wallet.ts';

const FAUCET_LAMPORTS = 500_000_000_000_000_000n;
const RENT_EXEMPT_EPOCH = 18446744073709551615n;
const MAX_TRANSFER_FEE = 1_000_000_000_000n;

/** Devnet's USDC mint, for clients that accept only known tokens. Here the faucet is its mint authority. */
export const PLANTED_MINT = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU';
export const FEE_BASIS_POINTS = 100;
export const DECIMALS = 6;

export function fund(chain: SimulatedChain, address: string, lamports: bigint): void {
  const data = new Uint8Array(0);
  const account = { lamports, owner: SYSTEM_PROGRAM, data, executable: false, rentEpoch: RENT_EXEMPT_EPOCH };
  chain.vm.setAccount(address, account);
}

export function createFaucet(chain: SimulatedChain): Wallet {
  const faucet = newWallet();
  fund(chain, faucet.address, FAUCET_LAMPORTS);
  return faucet;
}

/** One extension of a new Token-2022 mint, with the instruction that initializes it. */
export type MintExtension = {
  readonly type: ExtensionType;
  readonly initialize: (mint: PublicKey) => TransactionInstruction;
};

export function transferFeeExtension({ publicKey }: Wallet, basisPoints: number): MintExtension {
  const terms = [publicKey, publicKey, basisPoints, MAX_TRANSFER_FEE, TOKEN_2022_PROGRAM_ID] as const;
  return {
    type: ExtensionType.TransferFeeConfig,
    initialize: (mint) => createInitializeTransferFeeConfigInstruction(mint, ...terms),
  };
}

export function pausableExtension({ publicKey }: Wallet): MintExtension {
  return {
    type: ExtensionType.PausableConfig,
    initialize: (mint) => createInitializePausableConfigInstruction(mint, publicKey, TOKEN_2022_PROGRAM_ID),
  };
}

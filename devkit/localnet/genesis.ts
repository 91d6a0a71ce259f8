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
const MAXIMUM_FEE = 1_000_000_000_000n;

/** The address of devnet's USDC, so that clients that know it can be paid. The mint authority is this chain's own. */
export const PLANTED_MINT = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU';
export const FEE_BASIS_POINTS = 100;
export const DECIMALS = 6;

export function fund(chain: SimulatedChain, address: string, lamports: bigint): void {
  const data = new Uint8Array(0);
  const account = { lamports, owner: SYSTEM_PROGRAM, data, executable: false, rentEpoch: RENT_EXEMPT_EPOCH };
  chain.vm.setAccount(address, account);
}

/** A faucet with more lamports than any test needs. */
export function createFaucet(chain: SimulatedChain): Wallet {
  const faucet = newWallet();
  fund(chain, faucet.address, FAUCET_LAMPORTS);
  return faucet;
}

/** Set-up of one extension of a new Token-2022 mint. */
export type MintExtension = {
  readonly type: ExtensionType;
  readonly initialize: (mint: PublicKey) => TransactionInstruction;
};

export function transferFeeExtension({ publicKey }: Wallet, basisPoints: number): MintExtension {
  const terms = [publicKey, publicKey, basisPoints, MAXIMUM_FEE, TOKEN_2022_PROGRAM_ID] as const;
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

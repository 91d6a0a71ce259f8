import { ComputeBudgetProgram, PublicKey, SystemProgram } from '@solana/web3.js';
import type { Chain } from '../chain/chain.ts';
import { submitSigned, type Wallet } from '../wallet.ts';
import type { MethodTable } from './call.ts';

const UNITS = 1000;
let given = 0;

/** Queues a transfer from the faucet. The unit limit differs each time, or two equal airdrops would be one transaction. */
export function airdrop(chain: Chain, faucet: Wallet, address: string, lamports: bigint): string {
  given += 1;
  const limit = ComputeBudgetProgram.setComputeUnitLimit({ units: UNITS + (given % 100_000) });
  const transfer = SystemProgram.transfer({
    fromPubkey: faucet.publicKey,
    toPubkey: new PublicKey(address),
    lamports,
  });
  return submitSigned(chain, [limit, transfer], [faucet]);
}

/** requestAirdrop, out of the faucet. */
export function airdropMethods(faucet: Wallet): MethodTable {
  return {
    requestAirdrop: (params, view) => {
      const address = params.address(0);
      return airdrop(view.chain, faucet, address, BigInt(params.integer(1)));
    },
  };
}

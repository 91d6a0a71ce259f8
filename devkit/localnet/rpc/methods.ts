import { airdrop, type Wallet } from '../wallet.ts';
import { accountMethods } from './accounts.ts';
import { blockhashMethods, legacyMethods } from './blockhashes.ts';
import { blockMethods } from './blocks.ts';
import type { MethodTable } from './call.ts';
import { clusterMethods } from './cluster.ts';
import { sendMethods } from './send.ts';
import { transactionMethods } from './transactions.ts';

/** All methods of a node; `legacy` adds those that Agave 2.0 removed. */
export function methodTable(faucet: Wallet, legacy: boolean): MethodTable {
  return {
    ...clusterMethods,
    ...blockhashMethods,
    ...accountMethods,
    ...blockMethods,
    ...transactionMethods,
    ...sendMethods,
    requestAirdrop: (params, view) =>
      airdrop(view.chain, faucet, params.address(0), BigInt(params.integer(1))),
    ...(legacy ? legacyMethods : {}),
  };
}

import type { Wallet } from '../wallet.ts';
import { accountMethods } from './accounts.ts';
import { airdropMethods } from './airdrop.ts';
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
    ...airdropMethods(faucet),
    ...(legacy ? legacyMethods : {}),
  };
}

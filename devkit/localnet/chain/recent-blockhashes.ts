import { addressBytes } from '../encoding/bytes.ts';
import type { SimulatedChain } from './chain.ts';
import { MAX_AGE } from './lifetime.ts';
import type { Block } from './records.ts';
import type { StoredAccount } from './vm.ts';

export const RECENT_BLOCKHASHES = 'SysvarRecentB1ockHashes11111111111111111111';
const COUNT_BYTES = 8;
const HASH_BYTES = 32;
const ENTRY_BYTES = 40;
const LAMPORTS_PER_SIGNATURE = 5_000n;

/** The sysvar after `block`: the hashes of the newest 150 blocks, newest first. LiteSVM's own sysvar has other hashes. */
export function recentBlockhashes({ ledger }: SimulatedChain, block: Block): StoredAccount {
  const data = Buffer.alloc(COUNT_BYTES + MAX_AGE * ENTRY_BYTES);
  const count = Math.min(MAX_AGE, block.height + 1);
  const depth = ledger.tip.height - block.height;
  data.writeBigUInt64LE(BigInt(count));
  for (let age = 0; age < count; age += 1) {
    const offset = COUNT_BYTES + age * ENTRY_BYTES;
    data.set(addressBytes(ledger.below(depth + age).blockhash), offset);
    data.writeBigUInt64LE(LAMPORTS_PER_SIGNATURE, offset + HASH_BYTES);
  }
  return {
    lamports: 42_706_560n,
    owner: 'Sysvar1111111111111111111111111111111111111',
    data,
    executable: false,
    rentEpoch: 18446744073709551615n,
  };
}

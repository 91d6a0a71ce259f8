import { base58 } from '@scure/base';
import { BLOCKHASH_LIFE } from '../proof/judge.ts';
import { getMultipleAccounts } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { TtlCache } from '../rpc/ttl-cache.ts';

/** Sysvar with a bank's 150 newest blockhashes, newest first. Layout: u64 count, then hash (32) and fee (8) of each. */
export const RECENT_BLOCKHASHES_SYSVAR = 'SysvarRecentB1ockHashes11111111111111111111';
const COUNT_BYTES = 8;
const HASH_BYTES = 32;
const ENTRY_BYTES = 40;

const AGES_SHARED_MS = 4_000;

/** Remaining validity of blockhashes in one node's confirmed bank. Callers share one request for four seconds. */
export class RecentBlockhashes {
  readonly #pool: Pick<NodePool, 'read'>;
  readonly #ages = new TtlCache<ReadonlyMap<string, number>>(AGES_SHARED_MS);

  constructor(pool: Pick<NodePool, 'read'>) {
    this.#pool = pool;
  }

  /** Blocks until `blockhash` (base58) expires, 1 to 150; null if the node does not list it, or if no node answers. */
  async blocksLeft(blockhash: string): Promise<number | null> {
    const ages = await this.#ages.get('', () => this.#pool.read(readAges)).catch(() => null);
    const age = ages?.get(blockhash);
    return age === undefined ? null : Number(BLOCKHASH_LIFE) - age;
  }
}

async function readAges(node: SolanaNode): Promise<ReadonlyMap<string, number>> {
  const { value } = await getMultipleAccounts(node, [RECENT_BLOCKHASHES_SYSVAR], 'confirmed');
  const ages = new Map<string, number>();
  const data = Buffer.from(value[0]?.data ?? []);
  if (data.length < COUNT_BYTES) return ages;
  const count = data.readBigUInt64LE();
  for (let at = COUNT_BYTES; at + ENTRY_BYTES <= data.length && ages.size < count; at += ENTRY_BYTES)
    ages.set(base58.encode(data.subarray(at, at + HASH_BYTES)), ages.size);
  return ages;
}

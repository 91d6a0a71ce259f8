import { NodeFault } from './errors.ts';
import * as rpc from './methods.ts';
import type { SolanaNode } from './node.ts';
import type { AccountInfo } from './schemas.ts';

/** An account as one node returns it; `account` is null if it does not exist there. */
export interface ShownAccount {
  readonly address: string;
  readonly node: string;
  readonly slot: bigint;
  readonly account: AccountInfo | null;
}

export async function readAccounts(
  node: SolanaNode,
  keys: readonly string[],
): Promise<ReadonlyMap<string, ShownAccount>> {
  const { context, value } = await rpc.getMultipleAccounts(node, keys, 'finalized');
  if (value.length !== keys.length)
    throw new NodeFault(
      node.name,
      `getMultipleAccounts: value has ${value.length} entries for ${keys.length} keys`,
    );
  const by = { node: node.name, slot: context.slot };
  return new Map(keys.map((address, index) => [address, { ...by, address, account: value[index] ?? null }]));
}

export function lowestSlot(shown: readonly ShownAccount[]): bigint {
  const [first, ...others] = shown.map(({ slot }) => slot);
  return others.reduce((low, next) => (next < low ? next : low), first ?? 0n);
}

import { rpc } from './rpc.ts';

/** One payment that left a wallet, as the finalized blocks show it. Amounts in base units that arrived. */
export interface ChainPayment {
  readonly signature: string;
  readonly slot: number;
  /** The wallet that received: for tokens the owner of the token account. */
  readonly wallet: string;
  /** `SOL` or the mint. */
  readonly asset: string;
  readonly received: bigint;
}

interface TokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner: string;
  readonly uiTokenAmount: { readonly amount: string };
}

interface BlockTransaction {
  readonly transaction: {
    readonly signatures: readonly string[];
    readonly accountKeys: readonly { readonly pubkey: string }[];
  };
  readonly meta: {
    readonly err: unknown;
    readonly preBalances: readonly number[];
    readonly postBalances: readonly number[];
    readonly preTokenBalances: readonly TokenBalance[];
    readonly postTokenBalances: readonly TokenBalance[];
  };
}

/**
 * Counts what really left `payer`, from the finalized blocks of one node and from nothing of ours: the judge of the demo, of
 * the crash tests and of the benchmarks. Small amounts only: balances are read as JSON numbers.
 */
export async function paymentsOnChain(
  rpcUrl: string,
  payer: string,
  fromSlot = 0,
): Promise<readonly ChainPayment[]> {
  const tip = await rpc<number>(rpcUrl, 'getSlot', [{ commitment: 'finalized' }]);
  const slots = await rpc<readonly number[]>(rpcUrl, 'getBlocks', [
    fromSlot,
    tip,
    { commitment: 'finalized' },
  ]);
  const payments: ChainPayment[] = [];
  for (const slot of slots) {
    const block = await rpc<{ readonly transactions: readonly BlockTransaction[] }>(rpcUrl, 'getBlock', [
      slot,
      BLOCK_OPTIONS,
    ]);
    for (const transaction of block.transactions) payments.push(...paymentsOf(transaction, payer, slot));
  }
  return payments;
}

const BLOCK_OPTIONS = {
  commitment: 'finalized',
  encoding: 'jsonParsed',
  transactionDetails: 'accounts',
  maxSupportedTransactionVersion: 1,
  rewards: false,
};

function paymentsOf({ transaction, meta }: BlockTransaction, payer: string, slot: number): ChainPayment[] {
  const keys = transaction.accountKeys.map((key) => key.pubkey);
  if (meta.err !== null || keys[0] !== payer) return [];
  const signature = transaction.signatures[0] ?? '';
  const tokenAccounts = new Set(meta.postTokenBalances.map((balance) => balance.accountIndex));
  const lamports = keys.flatMap((wallet, index) => {
    const received = BigInt(meta.postBalances[index] ?? 0) - BigInt(meta.preBalances[index] ?? 0);
    return received > 0n && !tokenAccounts.has(index)
      ? [{ signature, slot, wallet, asset: 'SOL', received }]
      : [];
  });
  const tokens = meta.postTokenBalances.flatMap(({ accountIndex, mint, owner, uiTokenAmount }) => {
    const before = meta.preTokenBalances.find((balance) => balance.accountIndex === accountIndex);
    const received = BigInt(uiTokenAmount.amount) - BigInt(before?.uiTokenAmount.amount ?? '0');
    return received > 0n && owner !== payer
      ? [{ signature, slot, wallet: owner, asset: mint, received }]
      : [];
  });
  return [...lamports, ...tokens];
}

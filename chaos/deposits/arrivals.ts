import { type Block, finalizedBlocks } from '../../src/localstack/chain-truth.ts';

/** What one finalized transaction brought to one account of a wallet, in base units, as its block shows it. */
export interface Arrival {
  readonly signature: string;
  readonly slot: number;
  readonly blockhash: string;
  /** The wallet for SOL, else the token account. */
  readonly account: string;
  readonly wallet: string;
  /** `SOL` or the mint. */
  readonly asset: string;
  readonly amount: bigint;
}

/** A finalized block by its name and that of its parent. */
export interface ChainBlock {
  readonly slot: number;
  readonly blockhash: string;
  readonly previousBlockhash: string;
}

/** The finalized chain of one node, and all that it brought to `wallets`. Throws where a block is missing. */
export async function readChain(
  rpcUrl: string,
  wallets: ReadonlySet<string>,
): Promise<{ readonly blocks: readonly ChainBlock[]; readonly arrivals: readonly Arrival[] }> {
  const [blocks, arrivals]: [ChainBlock[], Arrival[]] = [[], []];
  for await (const block of finalizedBlocks(rpcUrl)) {
    const { slot, blockhash, previousBlockhash } = block;
    blocks.push({ slot, blockhash, previousBlockhash });
    arrivals.push(...arrivalsIn(block, wallets));
  }
  return { blocks, arrivals };
}

/** Source: exchange-interface, Deposit detection rules; counted anew here, by none of the code that it judges. */
export function arrivalsIn(
  { slot, blockhash, transactions }: Block,
  wallets: ReadonlySet<string>,
): Arrival[] {
  return transactions.flatMap(({ transaction, meta }) => {
    if (meta.err !== null) return [];
    const brought = (index: number, wallet: string, asset: string, amount: bigint): Arrival[] => {
      const account = transaction.accountKeys[index]?.pubkey ?? '';
      const signature = transaction.signatures[0] ?? '';
      return wallets.has(wallet) && amount > 0n
        ? [{ signature, slot, blockhash, account, wallet, asset, amount }]
        : [];
    };
    const lamports = transaction.accountKeys.flatMap(({ pubkey }, index) =>
      brought(
        index,
        pubkey,
        'SOL',
        BigInt(meta.postBalances[index] ?? 0) - BigInt(meta.preBalances[index] ?? 0),
      ),
    );
    const tokens = meta.postTokenBalances.flatMap(({ accountIndex, mint, owner, uiTokenAmount }) => {
      const before = meta.preTokenBalances.find((one) => one.accountIndex === accountIndex);
      const gain = BigInt(uiTokenAmount.amount) - BigInt(before?.uiTokenAmount.amount ?? '0');
      return brought(accountIndex, owner, mint, gain);
    });
    return [...lamports, ...tokens];
  });
}

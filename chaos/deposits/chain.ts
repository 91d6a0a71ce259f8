import {
  finalizedBlocks,
  type IncomingTransfer,
  incomingTransfersIn,
} from '../../devkit/localstack/chain-truth.ts';

/** A finalized block: its slot, blockhash and parent blockhash. */
export interface ChainBlock {
  readonly slot: number;
  readonly blockhash: string;
  readonly previousBlockhash: string;
}

/** The finalized blocks of one node, with all incoming transfers of `wallets`. Throws if a block is missing. */
export async function readChain(
  rpcUrl: string,
  wallets: ReadonlySet<string>,
): Promise<{ readonly blocks: readonly ChainBlock[]; readonly arrivals: readonly IncomingTransfer[] }> {
  const [blocks, arrivals]: [ChainBlock[], IncomingTransfer[]] = [[], []];
  for await (const block of finalizedBlocks(rpcUrl)) {
    const { slot, blockhash, previousBlockhash } = block;
    blocks.push({ slot, blockhash, previousBlockhash });
    arrivals.push(...incomingTransfersIn(block, wallets));
  }
  return { blocks, arrivals };
}

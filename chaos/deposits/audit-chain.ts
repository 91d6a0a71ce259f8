import type { IncomingTransfer } from '../../devkit/localstack/chain-truth.ts';
import type { BlockHeader } from '../../src/domain/deposit.ts';
import type { ChainBlock } from './chain.ts';

interface Scanned {
  readonly arrivals: readonly IncomingTransfer[];
  readonly blocks: readonly ChainBlock[];
  readonly headers: readonly BlockHeader[];
  readonly cursor: { readonly slot: bigint; readonly blockhash: string } | null;
  readonly openGaps: number;
}

/** The recorded headers are those of the chain, block by block, from where the scan began to the cursor, which has passed every deposit. */
export function chainFindings({ arrivals, blocks, headers, cursor, openGaps }: Scanned): readonly string[] {
  const last = headers.at(-1);
  if (cursor === null || last === undefined) return ['nothing was scanned'];
  const begin = blocks.findIndex(({ slot }) => BigInt(slot) === headers[0]?.slot);
  const differing = headers.findIndex((header, index) => !isBlock(header, blocks[begin + index]));
  const broken = headers.findIndex((header, index) => index > 0 && !follows(headers[index - 1], header));
  const unread = arrivals.filter(({ slot }) => BigInt(slot) > cursor.slot);
  const where = (index: number): string => `the recorded header at slot ${headers[index]?.slot}`;
  return [
    ...(begin >= 0 && differing === -1
      ? []
      : [`${where(Math.max(0, differing))} is not the block of the chain`]),
    ...(broken === -1 ? [] : [`${where(broken)} does not follow the one before it`]),
    ...(cursor.slot === last.slot && cursor.blockhash === last.blockhash
      ? []
      : [`the cursor is at slot ${cursor.slot}, the last recorded block at ${last.slot}`]),
    ...unread.map(({ signature, slot }) => `the cursor has not passed ${signature} at slot ${slot}`),
    ...(openGaps === 0 ? [] : [`${openGaps} gaps are open`]),
  ];
}

function isBlock(header: BlockHeader, block: ChainBlock | undefined): boolean {
  return (
    block !== undefined &&
    header.slot === BigInt(block.slot) &&
    header.blockhash === block.blockhash &&
    header.previousBlockhash === block.previousBlockhash
  );
}

function follows(parent: BlockHeader | undefined, child: BlockHeader): boolean {
  return (
    parent !== undefined &&
    child.parentSlot === parent.slot &&
    child.previousBlockhash === parent.blockhash &&
    child.height === parent.height + 1n
  );
}

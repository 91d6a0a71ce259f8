import { z } from 'zod';
import type { BlockHeader, ScannedBlock, ScannedTransaction } from '../../domain/deposit.ts';
import { parseJson } from '../rpc/answer.ts';
import { NodeFault } from '../rpc/errors.ts';
import { blockTime, hash, slotOrHeight } from '../rpc/schemas.ts';
import {
  ANSWER_OBJECTS,
  duplicateKeyIn,
  type ReadObjects,
  TRANSACTION_OBJECTS,
} from './bytes/duplicate-keys.ts';
import type { ByteRange } from './bytes/json-bytes.ts';
import { type ReadOptions, readTransaction } from './transaction.ts';

/** The fields of a getBlock result that belong to the block header. */
export const headerFields = z.object({
  blockhash: hash,
  previousBlockhash: hash,
  parentSlot: slotOrHeight,
  blockHeight: slotOrHeight,
  blockTime,
});

const blockAnswer = z.object({ result: headerFields.extend({ transactions: z.array(z.unknown()) }) });

export function headerOf(fields: z.output<typeof headerFields>): Omit<BlockHeader, 'slot'> {
  const { blockhash, previousBlockhash, parentSlot, blockHeight: height, blockTime: time } = fields;
  return { blockhash, parentSlot, previousBlockhash, height, time };
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The block of `slot` from the bytes of a getBlock answer, in any encoding. Throws NodeFault for an incomplete block,
 * so that it is never treated as empty: without transactions or height, or with a transaction that
 * {@link readTransaction} refuses. Also throws NodeFault for a duplicate key, because two readers could use different
 * values.
 */
export function readBlock(bytes: Uint8Array, slot: bigint, options: ReadOptions = {}): ScannedBlock {
  const value = parseUniqueKeys(bytes, ANSWER_OBJECTS, slot, options);
  const parsedAnswer = blockAnswer.safeParse(value);
  if (!parsedAnswer.success) {
    const [issue] = parsedAnswer.error.issues;
    throw blockFault(
      slot,
      options,
      `${issue?.path.join('.') ?? 'answer'}: ${issue?.message ?? 'unreadable'}`,
    );
  }
  const { result } = parsedAnswer.data;
  return {
    header: { slot, ...headerOf(result) },
    transactions: result.transactions.map((transaction) => readTransaction(transaction, options)),
  };
}

/** The transactions at `ranges`, positions in the bytes of a getBlock answer. Throws as {@link readBlock}. */
export function readTransactionsAt(
  bytes: Uint8Array,
  ranges: readonly ByteRange[],
  slot: BlockHeader['slot'],
  options: ReadOptions = {},
): readonly ScannedTransaction[] {
  return ranges.map(({ start, end }) =>
    readTransaction(parseUniqueKeys(bytes.subarray(start, end), TRANSACTION_OBJECTS, slot, options), options),
  );
}

function parseUniqueKeys(
  bytes: Uint8Array,
  readObjects: ReadObjects,
  slot: bigint,
  options: ReadOptions,
): unknown {
  const [text, value] = decodeJson(bytes, slot, options);
  const name = duplicateKeyIn(text, readObjects);
  if (name !== null)
    throw blockFault(slot, options, `the key ${JSON.stringify(name)} occurs twice in one object`);
  return value;
}

function decodeJson(
  bytes: Uint8Array,
  slot: bigint,
  options: ReadOptions,
): readonly [text: string, value: unknown] {
  try {
    const text = UTF8.decode(bytes);
    return [text, parseJson(text)];
  } catch (error) {
    throw blockFault(slot, options, 'the answer is not JSON', error);
  }
}

function blockFault(
  slot: bigint,
  { node = 'the node' }: ReadOptions,
  reason: string,
  cause?: unknown,
): NodeFault {
  return new NodeFault(node, `getBlock: block ${slot}: ${reason}`, { method: 'getBlock', cause });
}

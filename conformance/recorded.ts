import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse, stringify } from 'lossless-json';
import { z } from 'zod';
import type { BlockHeader, ScannedTransaction } from '../src/domain/deposit.ts';
import { parseJson } from '../src/solana/rpc/answer.ts';
import { readBlock } from '../src/solana/scan/block.ts';
import { readTransaction } from '../src/solana/scan/transaction.ts';
import type { RecordForm } from './facts.ts';

/** What our own reading makes of one recorded file. `header` is null for a file of transactions. */
export interface Reading {
  readonly header: BlockHeader | null;
  readonly transactions: readonly ScannedTransaction[];
}

const READ = { node: 'the file' };

/** The JSON-RPC answers in a recorded file, as a node would have sent them. */
export async function answersIn(
  directory: string,
  name: string,
  form: RecordForm,
): Promise<readonly Buffer[]> {
  const packed = await readFile(join(directory, name));
  return answersOf(name.endsWith('.gz') ? gunzipSync(packed) : packed, form);
}

/**
 * Reads the answers of a file as the scan does, and throws as it does.
 * Recorded answers name no slot of their own: a block is taken for the one of the slot after its parent's.
 */
export function readRecorded(name: string, answers: readonly Buffer[]): Reading {
  if (name.startsWith('transactions/')) return { header: null, transactions: answers.map(transactionOf) };
  const [only, ...others] = answers;
  if (only === undefined || others.length > 0) throw new Error(`${name} holds ${answers.length} blocks`);
  return readBlock(only, parentSlotOf(only) + 1n, READ);
}

function answersOf(bytes: Buffer, form: RecordForm): readonly Buffer[] {
  if (form === 'envelope') return [bytes];
  if (form === 'result')
    return [Buffer.concat([Buffer.from('{"jsonrpc":"2.0","result":'), bytes, Buffer.from(',"id":1}')])];
  return z
    .array(z.unknown())
    .parse(parse(bytes.toString('utf8')))
    .map((answer) => Buffer.from(stringify(answer) ?? ''));
}

function transactionOf(bytes: Buffer): ScannedTransaction {
  const { result } = z.object({ result: z.unknown() }).parse(parseJson(bytes.toString('utf8')));
  return readTransaction(result, READ);
}

function parentSlotOf(bytes: Buffer): bigint {
  return BigInt(/"parentSlot"\s*:\s*([0-9]+)/.exec(bytes.toString('latin1'))?.[1] ?? 0);
}

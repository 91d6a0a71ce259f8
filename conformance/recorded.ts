import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse, stringify } from 'lossless-json';
import { z } from 'zod';
import type { BlockHeader, ScannedTransaction } from '../src/domain/deposit.ts';
import { parseJson } from '../src/solana/rpc/json.ts';
import { readBlock } from '../src/solana/scan/block.ts';
import { readTransaction } from '../src/solana/scan/transaction.ts';
import type { RecordForm } from './facts.ts';

/** What our own reading makes of one recorded file. `header` is null for a file of transactions. */
export interface Reading {
  readonly header: BlockHeader | null;
  readonly transactions: readonly ScannedTransaction[];
}

/** Recorded answers name no slot of their own, and early ones neither owners nor, at times, token balances. */
const EARLY = { node: 'the file', early: true } as const;

/** Reads a recorded file as the scan reads an answer. Throws as the scan does. */
export async function readRecorded(directory: string, name: string, form: RecordForm): Promise<Reading> {
  const packed = await readFile(join(directory, name));
  const answers = answersOf(name.endsWith('.gz') ? gunzipSync(packed) : packed, form);
  if (name.startsWith('transactions/'))
    return { header: null, transactions: answers.map((bytes) => transactionOf(bytes)) };
  const [only, ...others] = answers;
  if (only === undefined || others.length > 0) throw new Error(`${name} holds ${answers.length} blocks`);
  return readBlock(only, parentSlotOf(only) + 1n, EARLY);
}

/** The answers of a file as a node would have sent them, one JSON-RPC envelope each. */
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
  return readTransaction(result, EARLY);
}

function parentSlotOf(bytes: Buffer): bigint {
  return BigInt(/"parentSlot"\s*:\s*([0-9]+)/.exec(bytes.toString('latin1'))?.[1] ?? 0);
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { answerAround, type BlockShape, blockTransactions, headerFields } from './block.ts';
import { answerQuestions } from './child.ts';
import { payTo } from './ours.ts';

/** What a chain of synthetic blocks is asked: to be made, and to grow. */
export type ServerQuestion =
  | { readonly shape: BlockShape; readonly wallets: readonly string[]; readonly bodies: number }
  | { readonly finalized: number };

/** Where its nodes answer, and the bytes of a block without its header, unpacked. */
export interface ServerAnswer {
  readonly rpcUrls: readonly string[];
  readonly blockBytes: number;
}

interface Request {
  readonly id: unknown;
  readonly method: string;
  readonly params?: readonly [slot?: unknown, options?: unknown];
}

const NODES = 2;
const GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
const METHOD_MISSING = -32601;

/** The transactions of a block as nodes show them to be searched, and as they list them; packed. */
interface Packed {
  readonly transactions: Buffer;
  readonly signatures: Buffer;
}

const SIGNATURES = /"signatures":\[("[^"]*")/g;

/** Packed once, as the transactions are the same for every so many slots; gzip joins its members to one text. */
let bodies: readonly Packed[] = [];
let finalized = 0;

const servers = Array.from({ length: NODES }, () =>
  // A connection that rests while others are measured must not be cut when its owner asks again.
  createServer({ keepAliveTimeout: 0 }, (request, response) => {
    serve(request, response).catch(() => response.destroy());
  }),
);
await Promise.all(servers.map((server) => once(server.listen(0, '127.0.0.1'), 'listening')));
const rpcUrls = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
let blockBytes = 0;

answerQuestions<ServerQuestion, ServerAnswer>(async (question) => {
  if ('finalized' in question) finalized = question.finalized;
  else {
    const { shape, wallets } = question;
    const recipient = payTo(shape, wallets);
    const texts = Array.from({ length: question.bodies }, (_, seed) =>
      Buffer.from(blockTransactions(seed, shape, recipient)),
    );
    blockBytes = texts[0]?.length ?? 0;
    bodies = texts.map((text) => ({ transactions: gzipSync(text), signatures: gzipSync(listOf(text)) }));
  }
  return { rpcUrls, blockBytes };
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const asked = JSON.parse(Buffer.concat(parts).toString()) as Request;
  const packed = packedAnswer(asked);
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-encoding', 'gzip');
  response.setHeader('content-length', packed.length);
  response.end(packed);
}

function packedAnswer(request: Request): Buffer {
  const { id, method, params: [slot, options] = [] } = request;
  const details = (options as { transactionDetails?: string } | undefined)?.transactionDetails;
  if (method === 'getBlock' && details === 'accounts') return packedBlock(Number(slot), id, 'transactions');
  if (method === 'getBlock' && details === 'signatures') return packedBlock(Number(slot), id, 'signatures');
  const result = resultOf(method, Number(slot), Number(options));
  const error = { code: METHOD_MISSING, message: 'Method not found' };
  const answer = result === undefined ? { error } : { result };
  return gzipSync(JSON.stringify({ jsonrpc: '2.0', ...answer, id }));
}

function listOf(transactions: Buffer): string {
  const listed = transactions.toString('latin1').matchAll(SIGNATURES);
  return `[${Array.from(listed, ([, signature]) => signature).join(',')}]`;
}

function packedBlock(slot: number, id: unknown, field: keyof Packed): Buffer {
  const { head, tail } = answerAround(slot, id, field);
  const body = bodies[slot % bodies.length]?.[field] ?? Buffer.alloc(0);
  return Buffer.concat([gzipSync(head), body, gzipSync(tail)]);
}

function resultOf(method: string, first: number, last: number): unknown {
  switch (method) {
    case 'getGenesisHash':
      return GENESIS;
    case 'getVersion':
      return { 'solana-core': '3.0.0' };
    case 'getFirstAvailableBlock':
      return 1;
    case 'getSlot':
      return finalized;
    case 'getEpochInfo':
      return { epoch: 1, absoluteSlot: finalized, blockHeight: finalized };
    case 'getTransaction':
      return null;
    case 'getBlock':
      return headerFields(first);
    case 'getBlocks':
      return Array.from(
        { length: Math.max(0, Math.min(last, finalized) - first + 1) },
        (_, at) => first + at,
      );
    default:
      return undefined;
  }
}

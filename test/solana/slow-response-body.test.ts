import { afterEach, expect, it } from 'vitest';
import { getBlock } from '../../src/solana/rpc/methods.ts';
import type { SolanaNode } from '../../src/solana/rpc/node.ts';
import { closeSlowNodes, poolWithSlowNode, readBlock, SlowNode } from './slow-response-server.ts';

afterEach(closeSlowNodes);

const headerOf = (node: SolanaNode, slot: bigint) =>
  getBlock(node, slot, { commitment: 'finalized', transactionDetails: 'signatures' });
type BlockHeaderAnswer = Awaited<ReturnType<typeof headerOf>>;
const isSame = (one: BlockHeaderAnswer, other: BlockHeaderAnswer) => one?.blockhash === other?.blockhash;

it.each([
  ['for two ranges', 16, false],
  ['for one scanner, with the headers', 8, true],
])(
  'concurrent block reads are answered by the other nodes while one node drips, %s',
  async (_name, count, mute) => {
    const state = new SlowNode(mute);
    const pool = await poolWithSlowNode(state);
    const slots = Array.from({ length: count }, (_, index) => BigInt(index + 2));
    const headers = mute ? slots.map((slot) => pool.agreed((node) => headerOf(node, slot), isSame)) : [];
    const shown = await Promise.all(slots.map((slot) => readBlock(pool, slot)));
    expect(shown.map(({ header }) => header.slot)).toEqual(slots);
    expect(state.slowAnswers).toBeGreaterThan(0);
    state.isSlow = false;
    await Promise.all(headers);
  },
);

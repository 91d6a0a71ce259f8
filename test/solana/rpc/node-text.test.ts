import { describe, expect, it } from 'vitest';
import { NodeFault, preflightError, RpcError } from '../../../src/solana/rpc/errors.ts';
import { isPlain } from '../../../src/solana/rpc/node-text.ts';
import { blockAnswer, statusesAnswer, versionAnswer } from '../../../src/solana/rpc/schemas.ts';
import { readTransactionError } from '../../../src/solana/tx/error.ts';

const UNKEPT = [
  ['a NUL', '\0'],
  ['half a character', '\ud83d'],
  ['a text above the length limit', 'x'.repeat(64 * 1_024)],
] as const;

describe('texts of a node, before they are stored,', () => {
  it.each(UNKEPT)('are stripped of %s', (_name, words) => {
    const answer = { code: -32_603, message: `be ${words} hind` };
    for (const { message } of [new RpcError(answer, 'node', 'getSlot'), new NodeFault('node', words)]) {
      expect([message.includes('\0'), message.isWellFormed()]).toEqual([false, true]);
      expect(message.length).toBeLessThan(1_100);
    }
    expect(new RpcError(answer, 'node', 'getSlot').message).toMatch(/^getSlot: -32603 InternalError: be /);
  });

  it.each(UNKEPT)('are refused as a chain error when they hold %s', (_name, words) => {
    for (const err of [words, { InstructionError: [0, words] }]) {
      const status = { slot: 7, err, confirmationStatus: 'finalized' };
      const shown = statusesAnswer(1).safeParse({ context: { slot: 9 }, value: [status] });
      expect(shown.success).toBe(false);
      const refusal = { code: -32_002, message: 'failed', data: { err } };
      expect(preflightError(new RpcError(refusal, 'node', 'sendTransaction'))).toBeNull();
    }
  });

  it.each(UNKEPT)('are refused as a hash or a version when they hold %s', (_name, words) => {
    const names = { blockhash: 'a', previousBlockhash: 'b' };
    const block = { ...names, parentSlot: 1, blockHeight: 1, blockTime: null };
    expect(blockAnswer.safeParse(block).success).toBe(true);
    for (const name of Object.keys(names))
      expect(blockAnswer.safeParse({ ...block, [name]: words }).success).toBe(false);
    expect(versionAnswer.safeParse({ 'solana-core': words }).success).toBe(false);
  });

  it.each([
    'BlockhashNotFound',
    { InstructionError: [3, { Custom: 6_001 }] },
    { InstructionError: [0, { BorshIoError: 'Unknown "\\"' }] },
  ])('are accepted as a chain error: %j', (err) => {
    expect(isPlain(readTransactionError(err)?.text ?? '')).toBe(true);
  });
});

import { afterEach, describe, expect, it, vi } from 'vitest';
import { cutBlock } from '../../../src/solana/scan/cut.ts';

const HEAD = '{"result":{"transactions":[';
const BEHIND =
  '],"blockHeight":1,"blockTime":1,"blockhash":"a","parentSlot":1,"previousBlockhash":"b"},"id":1}';

/** An answer with these elements, over and over, and how often it gave them. */
function answerOf(elements: string, times: number) {
  const said = { times: 0 };
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(HEAD);
    const again = Buffer.from(`${elements},`);
    for (; said.times < times - 1; said.times += 1) yield again;
    yield Buffer.from(elements + BEHIND);
  }
  return { said, parts };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('what a node can make us hold by a long answer', () => {
  it('is a piece as it came, and nothing for each of its elements', async () => {
    const joined = vi.spyOn(Buffer, 'concat');
    const { parts } = answerOf(Array.from({ length: 10_000 }, () => '[]').join(','), 4);
    let pieces = 0;
    for await (const _ of cutBlock(parts())) pieces += 1;
    expect(pieces).toBe(2);
    expect(Math.max(...joined.mock.calls.map(([list]) => list.length))).toBeLessThan(10);
  });
});

import { describe, expect, it } from 'vitest';
import { readBlock } from '../../../src/solana/scan/block.ts';

const [KEY, MINT, SIGNATURE] = ['x'.repeat(44), 'm'.repeat(44), 's'.repeat(88)] as const;

describe('the block reader accepts', () => {
  const one = (meta: object, version?: unknown) =>
    Buffer.from(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        result: {
          blockhash: 'b',
          previousBlockhash: 'a',
          parentSlot: '6',
          blockHeight: '5',
          blockTime: '1700000000',
          transactions: [
            {
              transaction: { signatures: [SIGNATURE], accountKeys: [{ pubkey: KEY, signer: true }] },
              meta: { err: null, fee: '5000', preBalances: ['7'], postBalances: [2], ...meta },
              ...(version === undefined ? {} : { version }),
            },
          ],
        },
      }),
    );
  const none = { preTokenBalances: [], postTokenBalances: [] };

  it('a number as text, and no status or version at all', () => {
    expect(readBlock(one(none), 7n)).toEqual({
      header: {
        slot: 7n,
        blockhash: 'b',
        previousBlockhash: 'a',
        parentSlot: 6n,
        height: 5n,
        time: 1_700_000_000n,
      },
      transactions: [
        {
          signature: SIGNATURE,
          version: 'legacy',
          error: null,
          feeLamports: 5_000n,
          accounts: [{ address: KEY, signer: true, before: 7n, after: 2n }],
          tokens: [],
        },
      ],
    });
  });

  it.each(['null', '-1', '9000000000000000', '"now"', undefined])(
    'a block without a time, and leaves the time empty: %s (FY scanner)',
    (time) => {
      const stored = JSON.stringify({ blockTime: '1700000000' }).slice(1, -1);
      const text = one(none).toString();
      const without =
        time === undefined ? text.replace(`${stored},`, '') : text.replace(stored, `"blockTime":${time}`);
      expect(without).not.toBe(text);
      expect(readBlock(Buffer.from(without), 7n).header.time).toBeNull();
    },
  );

  it.each([
    [{ err: 'AccountInUse', status: { Ok: null } }, 'AccountInUse'],
    [{ err: 'AccountInUse', preBalances: [], postBalances: [] }, 'AccountInUse'],
    [{ err: { InstructionError: [0, { Custom: 1 }] } }, '{"InstructionError":[0,{"Custom":1}]}'],
  ])('a transaction with %j, as a failed one', (meta, error) => {
    expect(readBlock(one(meta), 7n).transactions[0]?.error).toBe(error);
  });

  it.each([null, {}, { Err: 'AccountInUse' }, { Ok: 1 }, { Ok: null, Err: 'AccountInUse' }])(
    'no transaction with err null beside the status %j, because its success is unknown',
    (status) => {
      const read = () => readBlock(one({ ...none, err: null, status }), 7n);
      expect(read).toThrow(/with err null, although its status is not Ok/);
      expect(read).toThrow(expect.objectContaining({ code: 'NodeFault' }));
    },
  );

  it('a failed transaction, whatever accounts it names twice or lacks, because it has no inflow', () => {
    const balance = { accountIndex: 9, mint: MINT, uiTokenAmount: { amount: '1' } };
    const twice = { accountIndex: 0, mint: MINT, uiTokenAmount: { amount: '1' } };
    const lists = { preTokenBalances: [balance], postTokenBalances: [twice, twice] };
    const failed = one({ ...none, ...lists, err: 'AccountInUse', preBalances: [7, 7], postBalances: [2, 2] });
    const named = failed.toString().replace(/("accountKeys":\[)(.*?)\]/, '$1$2,$2]');
    expect(readBlock(Buffer.from(named), 7n).transactions).toMatchObject([{ error: 'AccountInUse' }]);
  });
});

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { getBlock, getSignaturesForAddress, getTransactionAccounts } from '../../src/solana/rpc/methods.ts';
import { resultOf, useScriptedNode } from './rpc-scripted-node.ts';

const MIB = 1_024 * 1_024;
const scripted = useScriptedNode();

describe('the size limit of a method', () => {
  // Each byte that any transaction may contain, as the longest escape of JSON.
  const written = (bytes: number) => String.raw`\u0001`.repeat(bytes);

  it('allows a full page of entries, each with the longest memo', async () => {
    const entry = `{"signature":"${'5'.repeat(88)}","slot":400000000,"err":null,"memo":"${written(4_096)}"}`;
    await scripted.open((asked) => resultOf(asked, `[${Array(1_000).fill(entry).join()}]`));
    expect(await getSignaturesForAddress(scripted.node, 'wallet', { limit: 1_000 })).toHaveLength(1_000);
  });

  it('allows a transaction with the most logs and instruction data', async () => {
    const inner = Array(64)
      .fill(`{"program":"spl-memo","parsed":"${written(10_240)}"}`)
      .join();
    const meta = `{"err":null,"logMessages":["${written(1_400_000)}"],"innerInstructions":[${inner}]}`;
    await scripted.open((asked) => resultOf(asked, `{"slot":7,"blockTime":null,"meta":${meta}}`));
    expect(await getTransactionAccounts(scripted.node, 'signature')).toMatchObject({ slot: 7n });
  });

  it('allows the signatures of as many transactions as a block can have', async () => {
    const hashes = '"blockhash":"5","previousBlockhash":"4","parentSlot":6,"blockHeight":7,"blockTime":null';
    const names = Array(2 ** 17).fill(`"${'5'.repeat(88)}"`);
    await scripted.open((asked) => resultOf(asked, `{${hashes},"signatures":[${names.join()}]}`));
    const asked = { commitment: 'finalized', transactionDetails: 'signatures' } as const;
    expect((await getBlock(scripted.node, 7n, asked))?.signatures).toHaveLength(2 ** 17);
  });

  it('allows whole blocks up to the general limit', async () => {
    await scripted.open((asked) => resultOf(asked, JSON.stringify(' '.repeat(33 * MIB))));
    for (const params of [[], [7, { transactionDetails: 'accounts' }]])
      expect(await scripted.node.call('getBlock', params, z.string())).toHaveLength(33 * MIB);
  });
});

import { base58 } from '@scure/base';
import { Keypair, MessageV0, PublicKey, TransactionInstruction } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { isNonceAdvance, isNonceAdvanceText } from '../../../src/solana/nonces/account.ts';
import { blockhashOf, decodeMessage, hasNonceLifetime } from '../../../src/solana/tx/message.ts';
import { SYSTEM_PROGRAM } from '../../../src/solana/tx/programs.ts';

/** The runtime reads a u32 of 4 and ignores what follows. */
const DATA: readonly (readonly [number[], boolean])[] = [
  [[4, 0, 0, 0], true],
  [[4, 0, 0, 0, 9, 9], true],
  [[4, 0, 0], false],
  [[4, 1, 0, 0], false],
  [[2, 0, 0, 0], false],
];

function messageWith(data: number[]): Uint8Array {
  const payerKey = Keypair.generate().publicKey;
  const keys = [{ pubkey: payerKey, isSigner: true, isWritable: true }];
  const programId = new PublicKey(SYSTEM_PROGRAM);
  const instructions = [new TransactionInstruction({ programId, keys, data: Buffer.from(data) })];
  const recentBlockhash = Keypair.generate().publicKey.toBase58();
  return MessageV0.compile({ payerKey, instructions, recentBlockhash }).serialize();
}

describe.each(DATA)('a first instruction of the System program with data %j', (data, advances) => {
  it(`${advances ? 'makes' : 'does not make'} a nonce the lifetime of the message, by every reader`, () => {
    const message = messageWith(data);
    expect(isNonceAdvance(SYSTEM_PROGRAM, Uint8Array.from(data))).toBe(advances);
    expect(isNonceAdvanceText(SYSTEM_PROGRAM, base58.encode(Uint8Array.from(data)))).toBe(advances);
    expect(hasNonceLifetime(decodeMessage(message))).toBe(advances);
    if (advances) expect(() => blockhashOf(message)).toThrow('durable nonce');
    else expect(blockhashOf(message)).toBe(decodeMessage(message).blockhash);
  });
});

it('an instruction text that no transaction can contain is no advance, and is not decoded', () => {
  const advance = base58.encode(Uint8Array.of(4, 0, 0, 0));
  for (const text of ['', '0OIl', advance.repeat(1_000)])
    expect(isNonceAdvanceText(SYSTEM_PROGRAM, text)).toBe(false);
});

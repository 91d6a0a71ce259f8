import {
  Keypair,
  SystemProgram,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { verifySignature } from '../../../src/signing/ed25519.ts';
import { readSigned } from '../../../src/solana/tx/signed-transaction.ts';
import { signVersion1 } from '../../conformance/version-1.ts';

const payer = Keypair.generate();
const second = Keypair.generate();
const recentBlockhash = Keypair.generate().publicKey.toBase58();
const transfer = (from: Keypair) =>
  SystemProgram.transfer({ fromPubkey: from.publicKey, toPubkey: payer.publicKey, lamports: 1 });

function legacy(): Uint8Array {
  const transaction = new Transaction({ feePayer: payer.publicKey, recentBlockhash });
  transaction.add(transfer(payer), transfer(second)).sign(payer, second);
  return transaction.serialize();
}

function version0(): Uint8Array {
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash,
    instructions: [transfer(payer), transfer(second)],
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([payer, second]);
  return transaction.serialize();
}

it.each([
  ['legacy', legacy],
  ['version-0', version0],
])('the parser returns the signers of a %s transaction, and the bytes that they signed', (_name, make) => {
  const signed = readSigned(make());
  expect(signed?.signers).toEqual([payer, second].map(({ publicKey }) => publicKey.toBase58()));
  expect(signed?.accounts).toContain(SystemProgram.programId.toBase58());
  for (const [index, signer] of (signed?.signers ?? []).entries())
    expect(
      verifySignature(
        signer,
        signed?.message ?? new Uint8Array(),
        signed?.signatures[index] ?? new Uint8Array(),
      ),
    ).toBe(true);
});

it('the parser returns the signer of a version-1 transaction', () => {
  const { raw, message } = signVersion1(payer, recentBlockhash, [transfer(payer)]);
  const signed = readSigned(Buffer.from(raw, 'base64'));
  expect(signed?.signers).toEqual([payer.publicKey.toBase58()]);
  expect(Buffer.from(signed?.message ?? [])).toEqual(Buffer.from(message));
});

it('the parser returns no signers for bytes that are no transaction', () => {
  for (const cut of [0, 1, 64, 65, 128, 132, 140]) expect(readSigned(version0().subarray(0, cut))).toBeNull();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      const signed = readSigned(bytes);
      expect(signed?.signers.length ?? 0).toBe(signed?.signatures.length ?? 0);
    }),
  );
});

import { base58 } from '@scure/base';
import { AddressLookupTableAccount, MessageV0, PublicKey, VersionedTransaction } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { readSigned } from '../../../src/solana/tx/signed-transaction.ts';
import { checkExact } from '../../../src/x402/rules/exact.ts';
import * as buyer from './buyer.ts';
import { price, transferChecked, units, wireOf } from './buyer.ts';

const check = (wire: Uint8Array) => checkExact(wire, buyer.TERMS, buyer.BOUNDS);

describe('a transaction of a payment is undecodable', () => {
  const undecodable = { reason: 'invalid_exact_svm_payload_transaction_could_not_be_decoded', payer: null };

  it.each([
    ['nothing', () => new Uint8Array()],
    ['bytes after its end', () => Uint8Array.of(...wireOf(), 0)],
    ['more bytes than a packet', () => new Uint8Array(2_000).fill(1)],
    ['one byte more than a packet, signed', () => bigWire(1_233)],
    ['a count of signatures in two bytes', () => Uint8Array.of(0x82, 0, ...wireOf().subarray(1))],
    ['version 1', () => Uint8Array.of(0x81, ...wireOf().subarray(1))],
    ['an address lookup table in use', tableWire],
    ['an unused address lookup table', emptyTableWire],
    ['an account twice', doubleAccountWire],
    ['a read-only fee payer', readonlyPayerWire],
  ])('with %s', (_name, wire) => {
    expect(buyer.refusal(check(wire()))).toEqual(undecodable);
  });

  it('unless it has at most as many bytes as a packet', () => {
    expect(buyer.paid(check(bigWire(1_232))).payer).toBe(buyer.BUYER);
  });

  it('in version 1, even if it is complete', () => {
    const [header, mask, instructions] = [[1, 0, 0], [0, 0, 0, 0], [0]];
    const keys = [...base58.decode(buyer.BLOCKHASH), ...instructions, 1, ...base58.decode(buyer.BUYER)];
    const wire = Uint8Array.of(0x81, ...header, ...mask, ...keys, ...new Uint8Array(64));
    expect(readSigned(wire)?.signers).toEqual([buyer.BUYER]);
    expect(buyer.refusal(check(wire))).toEqual(undecodable);
  });
});

function compiled(
  change: (message: MessageV0) => void,
  tables: AddressLookupTableAccount[] = [],
): Uint8Array {
  const message = MessageV0.compile({
    payerKey: new PublicKey(buyer.FEE_PAYER),
    recentBlockhash: buyer.BLOCKHASH,
    instructions: [units(), price(), transferChecked()],
    addressLookupTableAccounts: tables,
  });
  change(message);
  const transaction = new VersionedTransaction(message);
  transaction.sign([buyer.buyerKey]);
  return transaction.serialize();
}

function tableOf(addresses: readonly string[]): AddressLookupTableAccount {
  return new AddressLookupTableAccount({
    key: new PublicKey(buyer.STRANGER),
    state: {
      addresses: addresses.map((one) => new PublicKey(one)),
      authority: new PublicKey(buyer.STRANGER),
      deactivationSlot: 2n ** 64n - 1n,
      lastExtendedSlot: 0,
      lastExtendedSlotStartIndex: 0,
    },
  });
}

function tableWire(): Uint8Array {
  return compiled(() => undefined, [tableOf([buyer.DESTINATION])]);
}

function emptyTableWire(): Uint8Array {
  return compiled(({ addressTableLookups }) => {
    const accountKey = new PublicKey(buyer.STRANGER);
    addressTableLookups.push({ accountKey, writableIndexes: [], readonlyIndexes: [0] });
  });
}

function doubleAccountWire(): Uint8Array {
  return compiled(({ staticAccountKeys, header }) => {
    staticAccountKeys.push(new PublicKey(buyer.DESTINATION));
    header.numReadonlyUnsignedAccounts += 1;
  });
}

function readonlyPayerWire(): Uint8Array {
  return compiled(({ header }) => {
    header.numReadonlySignedAccounts = 2;
  });
}

/** A payment of so many bytes, by the length of its memo. */
function bigWire(size: number): Uint8Array {
  const withMemo = (length: number) =>
    wireOf({ instructions: [units(), price(), transferChecked(), buyer.memo('m'.repeat(length))] });
  const wire = withMemo(500 + size - withMemo(500).length);
  expect(wire).toHaveLength(size);
  return wire;
}

import { MessageV0, PublicKey, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SigningBounds } from '../../src/signing/checks.ts';
import { checkUpkeep, type UpkeepRequest } from '../../src/signing/policy/nonces.ts';
import { checkMessage, type SigningRequest } from '../../src/signing/policy/withdrawal.ts';
import { advanceNonce, nonceAddress, nonceSeed } from '../../src/solana/nonces/account.ts';
import { composeUpkeep, type NonceUpkeep } from '../../src/solana/nonces/upkeep.ts';
import { composeTransfer, type TransferSpec } from '../../src/solana/tx/transfer.ts';
import { addressOfSeed, SIGNER } from './any-transfer.ts';

const OTHER = addressOfSeed(9);
const NONCE_ACCOUNT = nonceAddress(SIGNER, nonceSeed(1));
const BOUNDS: SigningBounds = {
  priceCapMicroLamports: 10_000n,
  maxFeeLamports: 500_000n,
  allowHookAccounts: false,
};
const LIMITS = { computeUnitLimit: 900, computeUnitPriceMicroLamports: 1_000n };
const refusal = expect.objectContaining({ code: 'SigningRefused' });

const transfer: TransferSpec = {
  asset: 'SOL',
  amount: 5n,
  source: SIGNER,
  destination: addressOfSeed(30),
  memo: null,
  token: null,
  blockhash: addressOfSeed(3),
  nonceAccount: NONCE_ACCOUNT,
  ...LIMITS,
};
const request: SigningRequest = {
  withdrawalId: 'w-1',
  signer: SIGNER,
  asset: 'SOL',
  amount: '5',
  destination: addressOfSeed(30),
  memo: null,
  maxFeeLamports: '6000',
  maxRentLamports: '0',
  createsAccount: false,
  nonceAccount: NONCE_ACCOUNT,
};
const { nonceAccount: _nonceAccount, ...blockhashRequest } = request;
const { nonceAccount: _account, ...blockhashTransfer } = transfer;

describe('a transfer with a durable nonce', () => {
  const message = composeTransfer(transfer);

  it('is signed when the task names its nonce account, and only then', () => {
    checkMessage(message, request, BOUNDS);
    expect(() => checkMessage(message, blockhashRequest, BOUNDS)).toThrow(refusal);
    expect(() => checkMessage(message, { ...request, nonceAccount: OTHER }, BOUNDS)).toThrow(refusal);
    expect(() => checkMessage(composeTransfer(blockhashTransfer), request, BOUNDS)).toThrow(refusal);
  });

  it('is refused with another authority, another position or another form of the advance', () => {
    const { instructions, payer } = parts(transfer);
    const [advance, ...rest] = instructions;
    if (advance === undefined) throw new Error('it begins with the advance');
    const withdraw = SystemProgram.nonceWithdraw({
      noncePubkey: new PublicKey(NONCE_ACCOUNT),
      authorizedPubkey: payer,
      toPubkey: payer,
      lamports: 1,
    });
    const longer = { ...advance, data: Buffer.concat([advance.data, Buffer.from([0])]) };
    const bad = [
      [...rest, advance],
      [advance, advance, ...rest],
      [withdraw, ...rest],
      [longer, ...rest],
      [advanceNonce(NONCE_ACCOUNT, OTHER), ...rest],
      [advanceNonce(OTHER, SIGNER), ...rest],
    ];
    checkMessage(compiled(payer, instructions), request, BOUNDS);
    for (const wrong of bad)
      expect(() => checkMessage(compiled(payer, wrong), request, BOUNDS)).toThrow(refusal);
  });
});

describe('the upkeep of a nonce account', () => {
  const create: NonceUpkeep = {
    kind: 'create',
    wallet: SIGNER,
    seed: nonceSeed(7),
    rentLamports: 1_447_680n,
    blockhash: addressOfSeed(4),
    ...LIMITS,
  };
  const advance: NonceUpkeep = { ...create, kind: 'advance', rentLamports: 0n };

  function asked({ kind, seed, rentLamports }: NonceUpkeep): UpkeepRequest {
    return { kind, seed, rentLamports: rentLamports.toString(), signer: SIGNER, maxFeeLamports: '6000' };
  }

  it('is signed as composed for the wallet itself', () => {
    for (const upkeep of [create, advance]) checkUpkeep(composeUpkeep(upkeep), asked(upkeep), BOUNDS);
  });

  it('is refused for another wallet, kind, seed, rent or price', () => {
    for (const upkeep of [create, advance]) {
      const message = composeUpkeep(upkeep);
      const wrong: readonly Partial<UpkeepRequest>[] = [
        { kind: upkeep.kind === 'create' ? 'advance' : 'create' },
        { signer: OTHER },
        { seed: nonceSeed(8) },
        { maxFeeLamports: '0' },
        ...(upkeep.kind === 'create' ? [{ rentLamports: '1447681' }] : []),
      ];
      for (const changes of wrong)
        expect(() => checkUpkeep(message, { ...asked(upkeep), ...changes }, BOUNDS)).toThrow(refusal);
      const priced = composeUpkeep({ ...upkeep, computeUnitPriceMicroLamports: 10_001n });
      expect(() => checkUpkeep(priced, asked(upkeep), BOUNDS)).toThrow(refusal);
      const bounded = { ...BOUNDS, maxFeeLamports: 5_999n };
      expect(() => checkUpkeep(message, asked(upkeep), bounded)).toThrow('SLUICE_MAX_FEE_LAMPORTS');
    }
    const rich = { ...create, rentLamports: 5_000_001n };
    expect(() => checkUpkeep(composeUpkeep(rich), asked(rich), BOUNDS)).toThrow(refusal);
    const named = { ...create, seed: 'savings' };
    expect(() => checkUpkeep(composeUpkeep(named), asked(named), BOUNDS)).toThrow(refusal);
  });

  it('is refused with any byte changed except its lifetime and lower limits', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(create, advance),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (upkeep, at, mask) => {
          const message = composeUpkeep(upkeep);
          const changed = Uint8Array.from(message);
          changed[at % message.length] = (changed[at % message.length] ?? 0) ^ mask;
          if (sameButLimits(changed, upkeep)) return;
          expect(() => checkUpkeep(changed, asked(upkeep), BOUNDS)).toThrow(refusal);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** The same upkeep but for lifetime, limit and price, which are at their offsets in the composed message. */
function sameButLimits(changed: Uint8Array, upkeep: NonceUpkeep): boolean {
  const before = composeUpkeep(upkeep);
  const variants = [
    composeUpkeep({ ...upkeep, blockhash: addressOfSeed(5) }),
    composeUpkeep({ ...upkeep, computeUnitLimit: 0xfffff }),
    composeUpkeep({ ...upkeep, computeUnitPriceMicroLamports: 0xffffn }),
  ];
  const free = (at: number): boolean => variants.some((variant) => variant[at] !== before[at]);
  return changed.every((byte, at) => byte === before[at] || free(at));
}

function parts(spec: TransferSpec) {
  const payer = new PublicKey(spec.source);
  const message = MessageV0.deserialize(composeTransfer(spec));
  const keys = message.staticAccountKeys;
  const instructions = message.compiledInstructions.map((item) => ({
    programId: keys[item.programIdIndex] ?? PublicKey.default,
    keys: item.accountKeyIndexes.map((index) => ({
      pubkey: keys[index] ?? PublicKey.default,
      isSigner: message.isAccountSigner(index),
      isWritable: message.isAccountWritable(index),
    })),
    data: Buffer.from(item.data),
  }));
  return { payer, instructions };
}

function compiled(payer: PublicKey, instructions: readonly TransactionInstruction[]): Uint8Array {
  return MessageV0.compile({
    payerKey: payer,
    instructions: [...instructions],
    recentBlockhash: addressOfSeed(3),
  }).serialize();
}

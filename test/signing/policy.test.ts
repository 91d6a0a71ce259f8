import { base58 } from '@scure/base';
import {
  ComputeBudgetProgram,
  Keypair,
  MessageV0,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
} from '@solana/web3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SigningBounds } from '../../src/signing/checks.ts';
import { verifySignature } from '../../src/signing/ed25519.ts';
import { checkMessage, type SigningRequest } from '../../src/signing/policy/withdrawal.ts';
import { loadKeypair } from '../../src/signing/signer.ts';
import { decodeMessage } from '../../src/solana/tx/message.ts';
import { attemptPrice, MAX_COMPUTE_UNITS, priorityLamports } from '../../src/solana/tx/priority-fee.ts';
import { MEMO_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { assembleTransaction, composeTransfer, type TransferSpec } from '../../src/solana/tx/transfer.ts';
import { addressOfSeed, anyTransfer, PRICE_CAP, SIGNER } from './any-transfer.ts';

const OTHER = addressOfSeed(9);
const BOUNDS: SigningBounds = {
  priceCapMicroLamports: PRICE_CAP,
  maxFeeLamports: 2n ** 64n - 1n,
  allowHookAccounts: false,
};
const micro = fc.bigInt({ min: 0n, max: 10n ** 9n });

function requestFor(transfer: TransferSpec): SigningRequest {
  const fee = priorityLamports(transfer.computeUnitLimit, transfer.computeUnitPriceMicroLamports);
  return {
    withdrawalId: 'w-1',
    signer: SIGNER,
    asset: transfer.asset,
    amount: transfer.amount.toString(),
    destination: transfer.destination,
    memo: transfer.memo,
    maxFeeLamports: fee.toString(),
    maxRentLamports: '1',
    createsAccount: transfer.token?.createAta ?? false,
    ...(transfer.nonceAccount === undefined ? {} : { nonceAccount: transfer.nonceAccount }),
  };
}

const refusal = expect.objectContaining({ code: 'SigningRefused' });
const refuses = (message: Uint8Array, request: SigningRequest, bounds = BOUNDS): void => {
  expect(() => checkMessage(message, request, bounds)).toThrow(refusal);
};

describe('the signer policy', () => {
  it('accepts every transfer that was composed for the request', () => {
    fc.assert(
      fc.property(anyTransfer, (transfer) => {
        const message = composeTransfer(transfer);
        checkMessage(message, requestFor(transfer), BOUNDS);
        const decoded = decodeMessage(message);
        expect(decoded.signers).toEqual([SIGNER]);
        expect(decoded.computeUnitLimit).toBe(transfer.computeUnitLimit);
        expect(decoded.computeUnitPriceMicroLamports).toBe(transfer.computeUnitPriceMicroLamports);
      }),
      { numRuns: 100 },
    );
  });

  const changes: Record<string, (transfer: TransferSpec) => TransferSpec> = {
    'another destination': (transfer) => ({ ...transfer, destination: OTHER }),
    'another amount': (transfer) => ({
      ...transfer,
      amount: transfer.amount === 1n ? 2n : transfer.amount - 1n,
    }),
    'another payer': (transfer) => ({ ...transfer, source: OTHER }),
    'another memo': (transfer) => ({ ...transfer, memo: `${transfer.memo ?? ''}!` }),
    'a higher priority fee': (transfer) => ({
      ...transfer,
      computeUnitPriceMicroLamports: transfer.computeUnitPriceMicroLamports + 1_000_000_000_000n,
    }),
    'another asset': (transfer) =>
      transfer.token === null
        ? { ...transfer, token: { ...TOKEN, mint: OTHER } }
        : { ...transfer, token: { ...transfer.token, mint: OTHER } },
  };
  const TOKEN = {
    mint: OTHER,
    program: TOKEN_PROGRAM,
    decimals: 6,
    createAta: false,
    expectedFee: null,
    hookAccounts: [],
  };

  it.each(Object.entries(changes))('refuses %s', (_name, change) => {
    fc.assert(
      fc.property(anyTransfer, (transfer) =>
        refuses(composeTransfer(change(transfer)), requestFor(transfer)),
      ),
      { numRuns: 40 },
    );
  });

  it('refuses every message with one byte changed, except the blockhash and lower limits', () => {
    fc.assert(
      fc.property(anyTransfer, fc.nat(), fc.integer({ min: 1, max: 255 }), (transfer, at, mask) => {
        const message = composeTransfer(transfer);
        const changed = Uint8Array.from(message);
        changed[at % message.length] = (changed[at % message.length] ?? 0) ^ mask;
        const harmless = readable(changed) && sameButLimits(changed, transfer);
        if (!harmless) refuses(changed, requestFor(transfer));
      }),
      { numRuns: 200 },
    );
  });

  it('refuses a price above its own cap, and a limit above that of the runtime, whatever fee is requested', () => {
    const request = { ...requestFor(native()), maxFeeLamports: (2n ** 64n - 1n).toString() };
    const priced = (price: bigint, units = MAX_COMPUTE_UNITS): Uint8Array =>
      composeTransfer({ ...native(), computeUnitLimit: units, computeUnitPriceMicroLamports: price });
    checkMessage(priced(PRICE_CAP), request, BOUNDS);
    refuses(priced(PRICE_CAP + 1n), request);
    checkMessage(priced(PRICE_CAP + 1n), request, { ...BOUNDS, priceCapMicroLamports: PRICE_CAP + 1n });
    refuses(priced(1n, MAX_COMPUTE_UNITS + 1), request);
  });

  it('refuses a fee above its own bound, whatever fee is requested', () => {
    const transfer = { ...native(), computeUnitLimit: 1_000_000, computeUnitPriceMicroLamports: 10_000n };
    const message = composeTransfer(transfer);
    const asked = (lamports: bigint) => ({ ...requestFor(native()), maxFeeLamports: lamports.toString() });
    const bounds = { ...BOUNDS, maxFeeLamports: 15_000n };
    checkMessage(message, asked(15_000n), bounds);
    expect(() => checkMessage(message, asked(15_001n), bounds)).toThrow('SLUICE_MAX_FEE_LAMPORTS is 15000');
    expect(() => checkMessage(message, asked(9_999n), { ...bounds, maxFeeLamports: 9_999n })).toThrow(
      refusal,
    );
  });

  it('accepts every price that an attempt may have under the same cap', () => {
    fc.assert(
      fc.property(micro, fc.option(micro), fc.nat(65_535), (recent, last, salt) => {
        const options = { floorMicroLamports: 1_000n, capMicroLamports: PRICE_CAP };
        const computeUnitPriceMicroLamports = attemptPrice(recent, last, BigInt(salt), options);
        const transfer = { ...native(), computeUnitPriceMicroLamports };
        checkMessage(composeTransfer(transfer), requestFor(transfer), BOUNDS);
      }),
      { numRuns: 100 },
    );
  });

  it('refuses hook accounts, unless its own bounds allow them', () => {
    const hooked = {
      ...TOKEN,
      program: TOKEN_2022_PROGRAM,
      hookAccounts: [{ address: addressOfSeed(77), writable: true }],
    };
    const transfer: TransferSpec = { ...native(), asset: OTHER, token: hooked };
    const message = composeTransfer(transfer);
    refuses(message, requestFor(transfer));
    checkMessage(message, requestFor(transfer), { ...BOUNDS, allowHookAccounts: true });
  });

  it('accepts only the withdrawal id as memo for a Token-2022 account that requires a memo', () => {
    const transfer = { ...native(), asset: OTHER, token: { ...TOKEN, program: TOKEN_2022_PROGRAM } };
    const request = requestFor(transfer);
    checkMessage(composeTransfer({ ...transfer, memo: 'w-1' }), request, BOUNDS);
    refuses(composeTransfer({ ...transfer, memo: 'w-2' }), request);
    refuses(composeTransfer({ ...native(), memo: 'w-1' }), requestFor(native()));
  });

  it('accepts the creation of a token account only if the task contains it, whatever its rent', () => {
    const made = { ...native(), asset: OTHER, token: { ...TOKEN, createAta: true } };
    const message = composeTransfer(made);
    const request = requestFor(made);
    for (const maxRentLamports of ['0', '2039280'])
      checkMessage(message, { ...request, maxRentLamports, createsAccount: true }, BOUNDS);
    refuses(message, { ...request, createsAccount: false });
    const present = composeTransfer({ ...made, token: TOKEN });
    checkMessage(present, { ...request, createsAccount: false }, BOUNDS);
    refuses(present, { ...request, createsAccount: true });
  });

  it('refuses tokens for an owner off the curve, unless its own bounds allow vaults', () => {
    const [vault] = PublicKey.findProgramAddressSync([Buffer.from('vault')], new PublicKey(OTHER));
    const destination = vault.toBase58();
    const transfer = { ...native(), asset: OTHER, token: { ...TOKEN, createAta: true }, destination };
    const message = composeTransfer({ ...transfer, toVault: true });
    refuses(message, requestFor(transfer));
    checkMessage(message, requestFor(transfer), { ...BOUNDS, allowVaults: true });
    refuses(message, requestFor({ ...transfer, destination: OTHER }), { ...BOUNDS, allowVaults: true });
  });

  it('refuses extra instructions, extra signers, lookup tables and trailing bytes', () => {
    const payer = new PublicKey(SIGNER);
    const pay = (to: string, from = payer) =>
      SystemProgram.transfer({ fromPubkey: from, toPubkey: new PublicKey(to), lamports: 5n });
    const limits = [
      ComputeBudgetProgram.setComputeUnitLimit({ units: 450 }),
      ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1_000 }),
    ];
    const build = (instructions: TransactionInstruction[]): Uint8Array =>
      MessageV0.compile({ payerKey: payer, instructions, recentBlockhash: addressOfSeed(3) }).serialize();
    const request = requestFor(native());
    const good = [...limits, pay(native().destination)];
    checkMessage(build(good), request, BOUNDS);
    refuses(build([...limits, pay(OTHER), pay(native().destination)]), request);
    refuses(build([...good, pay(OTHER)]), request);
    refuses(build([...good, ...limits]), request);
    refuses(build([pay(native().destination), ...limits]), request);
    refuses(build([pay(native().destination)]), request);
    refuses(build([...limits, pay(native().destination, new PublicKey(OTHER))]), request);
    const memo = { programId: new PublicKey(MEMO_PROGRAM), data: Buffer.from('x') };
    const cosigned = new TransactionInstruction({
      ...memo,
      keys: [{ pubkey: new PublicKey(OTHER), isSigner: true, isWritable: false }],
    });
    refuses(build([...limits, cosigned, pay(native().destination)]), { ...request, memo: 'x' });
    const tabled = MessageV0.deserialize(build(good));
    tabled.addressTableLookups.push({
      accountKey: new PublicKey(OTHER),
      writableIndexes: [0],
      readonlyIndexes: [],
    });
    refuses(tabled.serialize(), request);
    refuses(Uint8Array.from([...build(good), 0]), request);
    refuses(new Uint8Array(), request);
  });
});

describe('a key', () => {
  it('makes signatures that its address verifies, and its file is checked', async () => {
    const pair = Keypair.fromSeed(new Uint8Array(32).fill(1));
    const signer = await loadKeypair(JSON.stringify([...pair.secretKey]));
    expect(signer.address).toBe(SIGNER);
    const message = composeTransfer(native());
    const signature = await signer.sign(message);
    expect(verifySignature(SIGNER, message, signature)).toBe(true);
    expect(verifySignature(OTHER, message, signature)).toBe(false);
    expect(assembleTransaction(message, signature).signature).toBe(base58.encode(signature));
  });

  it('never appears in an error', async () => {
    const secret = [...Keypair.fromSeed(new Uint8Array(32).fill(213)).secretKey];
    const bad = [
      '[213, 213, 213',
      '["213213"]',
      JSON.stringify([...secret.slice(0, 63), 0]),
      '/no/such/213213',
    ];
    for (const text of bad) {
      const error: unknown = await loadKeypair(text).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'InvalidRequest' });
      expect(error).not.toHaveProperty('cause');
      expect(String(error)).not.toContain('213');
    }
  });
});

function native(): TransferSpec {
  return {
    asset: 'SOL',
    amount: 5n,
    source: SIGNER,
    destination: addressOfSeed(30),
    memo: null,
    token: null,
    computeUnitLimit: 450,
    computeUnitPriceMicroLamports: 1_000n,
    blockhash: addressOfSeed(3),
  };
}

function readable(message: Uint8Array): boolean {
  try {
    decodeMessage(message);
    return true;
  } catch {
    return false;
  }
}

/** The customer gets the same whatever the blockhash, the declared decimals or fee (the chain refuses false ones) and cheaper limits. */
function sameButLimits(message: Uint8Array, transfer: TransferSpec): boolean {
  const { blockhash, computeUnitLimit, computeUnitPriceMicroLamports, instructions } = decodeMessage(message);
  if (computeUnitLimit === null || computeUnitPriceMicroLamports === null) return false;
  const priority = priorityLamports(computeUnitLimit, computeUnitPriceMicroLamports);
  if (priority > BigInt(requestFor(transfer).maxFeeLamports)) return false;
  if (computeUnitLimit > MAX_COMPUTE_UNITS || computeUnitPriceMicroLamports > PRICE_CAP) return false;
  const data = instructions.at(-1)?.data ?? new Uint8Array();
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const withFee = transfer.token !== null && transfer.token.expectedFee !== null;
  const said =
    transfer.token === null || data.length < 10
      ? null
      : {
          ...transfer.token,
          decimals: data[withFee ? 10 : 9] ?? 0,
          expectedFee:
            withFee && data.length === 19 ? view.getBigUint64(11, true) : transfer.token.expectedFee,
        };
  const again = { ...transfer, token: said, blockhash, computeUnitLimit, computeUnitPriceMicroLamports };
  return Buffer.from(composeTransfer(again)).equals(message);
}

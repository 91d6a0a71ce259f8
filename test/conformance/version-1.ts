import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';
import { type Keypair, PublicKey, type TransactionInstruction } from '@solana/web3.js';

/** Config values of a version-1 message; those left out are not written. */
export interface Version1Config {
  readonly priorityFeeLamports?: bigint;
  readonly computeUnitLimit?: number;
  readonly loadedAccountsDataSizeLimit?: number;
}

/** Limits that suffice for small transactions: without them a version-1 transaction may load and run nothing. */
export const ROOMY: Version1Config = { computeUnitLimit: 300_000, loadedAccountsDataSizeLimit: 1_048_576 };

function little(value: bigint | number, length: number): number[] {
  return Array.from({ length }, (_, index) => Number((BigInt(value) >> BigInt(8 * index)) & 255n));
}

function configBytes(config: Version1Config): { mask: number; values: number[] } {
  const { priorityFeeLamports, computeUnitLimit, loadedAccountsDataSizeLimit } = config;
  const parts: [number, number[]][] = [];
  if (priorityFeeLamports !== undefined) parts.push([3, little(priorityFeeLamports, 8)]);
  if (computeUnitLimit !== undefined) parts.push([4, little(computeUnitLimit, 4)]);
  if (loadedAccountsDataSizeLimit !== undefined) parts.push([8, little(loadedAccountsDataSizeLimit, 4)]);
  return {
    mask: parts.reduce((sum, [bits]) => sum | bits, 0),
    values: parts.flatMap(([, bytes]) => bytes),
  };
}

/** Keys in the order of a message with one signer: the payer, other written ones, then the programs. */
function orderKeys(payer: PublicKey, instructions: readonly TransactionInstruction[]): string[] {
  const written = instructions.flatMap((item) => item.keys.map((key) => key.pubkey.toBase58()));
  const programs = instructions.map((item) => item.programId.toBase58());
  return [...new Set([payer.toBase58(), ...written, ...programs])];
}

/** A signed version-1 transaction (SIMD-0385), written by hand: message, then signatures. Every key but the programs is written to. */
export function signVersion1(
  payer: Keypair,
  blockhash: string,
  instructions: readonly TransactionInstruction[],
  config: Version1Config = ROOMY,
): { signature: string; message: Uint8Array; raw: string } {
  const keys = orderKeys(payer.publicKey, instructions);
  const programs = new Set(instructions.map((item) => item.programId.toBase58())).size;
  const { mask, values } = configBytes(config);
  const indexOf = (key: PublicKey): number => keys.indexOf(key.toBase58());
  const message = new Uint8Array([
    0x81,
    1,
    0,
    programs,
    ...little(mask, 4),
    ...base58.decode(blockhash),
    instructions.length,
    keys.length,
    ...keys.flatMap((key) => [...new PublicKey(key).toBytes()]),
    ...values,
    ...instructions.flatMap((item) => [
      indexOf(item.programId),
      item.keys.length,
      ...little(item.data.length, 2),
    ]),
    ...instructions.flatMap((item) => [...item.keys.map((key) => indexOf(key.pubkey)), ...item.data]),
  ]);
  const signature = ed25519.sign(message, payer.secretKey.slice(0, 32));
  const raw = Buffer.concat([message, signature]).toString('base64');
  return { signature: base58.encode(signature), message, raw };
}

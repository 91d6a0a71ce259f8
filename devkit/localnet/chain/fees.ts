import { ByteReader } from '../encoding/bytes.ts';
import type { WireMessage } from '../encoding/wire.ts';
import { COMPUTE_BUDGET_PROGRAM } from './programs.ts';

const LAMPORTS_PER_SIGNATURE = 5000n;
const MAX_COMPUTE_UNITS = 1_400_000;
const UNITS_PER_PROGRAM_INSTRUCTION = 200_000;
const UNITS_PER_BUILTIN_INSTRUCTION = 3000;
const MICRO_LAMPORTS = 1_000_000n;

/** Built-in programs, whose instructions have the smaller default limit of compute units. */
const BUILTINS = new Set([
  '11111111111111111111111111111111',
  COMPUTE_BUDGET_PROGRAM,
  'Vote111111111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
]);

/** Precompiles that verify signatures, each at the price of a transaction signature. The first data byte is their count. */
const SIGNATURE_PRECOMPILES = new Set([
  'KeccakSecp256k11111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
]);

export interface ComputeBudget {
  readonly unitLimit: number;
  readonly unitPriceMicroLamports: bigint;
}

/** Reads limit and price from compute-budget instructions. A version-1 message has the limit in its config, 0 if missing, and no price. */
export function readComputeBudget(message: WireMessage): ComputeBudget {
  let unitLimit: number | null = message.version === 1 ? (message.config?.computeUnitLimit ?? 0) : null;
  let unitPriceMicroLamports = 0n;
  let defaultLimit = 0;
  for (const { programIdIndex, data } of message.instructions) {
    const program = message.keys[programIdIndex] ?? '';
    defaultLimit += BUILTINS.has(program) ? UNITS_PER_BUILTIN_INSTRUCTION : UNITS_PER_PROGRAM_INSTRUCTION;
    if (program !== COMPUTE_BUDGET_PROGRAM || message.version === 1) continue;
    const reader = new ByteReader(data, 1);
    if (data[0] === 2 && data.length >= 5) unitLimit = reader.u32();
    if (data[0] === 3 && data.length >= 9) unitPriceMicroLamports = reader.u64();
  }
  return { unitLimit: Math.min(unitLimit ?? defaultLimit, MAX_COMPUTE_UNITS), unitPriceMicroLamports };
}

/** Base fee and priority fee in lamports. The priority fee is ceil(limit x price / 1e6), or the total in a version-1 config. */
export function transactionFee(message: WireMessage): { base: bigint; priority: bigint } {
  let signatures = BigInt(message.header.signatures);
  for (const { programIdIndex, data } of message.instructions) {
    if (SIGNATURE_PRECOMPILES.has(message.keys[programIdIndex] ?? '')) signatures += BigInt(data[0] ?? 0);
  }
  const { unitLimit, unitPriceMicroLamports } = readComputeBudget(message);
  const priority =
    message.config?.priorityFeeLamports ??
    (BigInt(unitLimit) * unitPriceMicroLamports + MICRO_LAMPORTS - 1n) / MICRO_LAMPORTS;
  return { base: signatures * LAMPORTS_PER_SIGNATURE, priority };
}

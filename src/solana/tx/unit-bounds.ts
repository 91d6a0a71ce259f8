import { TOKEN_2022_PROGRAM } from './programs.ts';
import type { TransferDraft } from './transfer.ts';

/** The compute units that a message may take, whatever nodes return. */
export interface UnitBounds {
  readonly floor: bigint;
  readonly ceiling: bigint;
}

type Part = readonly [least: bigint, most: bigint];

/**
 * Lowest and highest compute units of each part of a message. The lowest is that of the cheapest deployed program
 * (p-token, p-memo), the highest about twice that of the most expensive one (SPL Token, SPL Memo).
 * test/solana/tx/unit-bounds.test.ts measures each part on the real programs.
 */
const PARTS = {
  /** Compute unit limit and price: 150 each. */
  limits: [300n, 600n],
  nonceAdvance: [150n, 300n],
  nonceCreate: [300n, 600n],
  nativeTransfer: [150n, 300n],
  /** p-token 105, SPL Token about 6,200. */
  token: [100n, 15_000n],
  /** Depends on the extensions of the mint and of both accounts. */
  token2022: [1_000n, 50_000n],
  /** Without the address search, which is charged by the bump. */
  createAta: [3_000n, 60_000n],
  memo: [200n, 10_000n],
  memoByte: [0n, 500n],
  /** Foreign code. */
  hook: [0n, 400_000n],
} as const satisfies Record<string, Part>;

/** The limits of a transfer, without the address search of the token account. */
export function transferBounds({ token, memo, nonceAccount }: TransferDraft): UnitBounds {
  const parts: Part[] = [PARTS.limits];
  if (nonceAccount !== undefined) parts.push(PARTS.nonceAdvance);
  if (memo !== null) parts.push(PARTS.memo, times(PARTS.memoByte, Buffer.byteLength(memo, 'utf8')));
  if (token === null) parts.push(PARTS.nativeTransfer);
  else {
    parts.push(token.program === TOKEN_2022_PROGRAM ? PARTS.token2022 : PARTS.token);
    if (token.createAta) parts.push(PARTS.createAta);
    if (token.hookAccounts.length > 0) parts.push(PARTS.hook);
  }
  return sum(parts);
}

export function upkeepBounds(kind: 'create' | 'advance'): UnitBounds {
  return sum([PARTS.limits, kind === 'create' ? PARTS.nonceCreate : PARTS.nonceAdvance]);
}

function times([least, most]: Part, count: number): Part {
  return [least * BigInt(count), most * BigInt(count)];
}

function sum(parts: readonly Part[]): UnitBounds {
  return {
    floor: parts.reduce((total, [least]) => total + least, 0n),
    ceiling: parts.reduce((total, [, most]) => total + most, 0n),
  };
}

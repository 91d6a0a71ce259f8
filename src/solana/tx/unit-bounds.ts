import { TOKEN_2022_PROGRAM } from './programs.ts';
import type { TransferDraft } from './transfer.ts';

/** The compute units that a message may take, whatever nodes say. */
export interface UnitBounds {
  readonly floor: bigint;
  readonly ceiling: bigint;
}

type Part = readonly [least: bigint, most: bigint];

/**
 * What each part of a message takes at least and at most, in compute units. The least is what the leanest program takes that is
 * deployed for it (p-token, p-memo), the most about twice what the heaviest one does (SPL Token and SPL Memo).
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
  /** By the extensions of the mint and of both accounts. */
  token2022: [1_000n, 50_000n],
  /** Without the search of the address, which is charged by the bump. */
  createAta: [3_000n, 60_000n],
  memo: [200n, 10_000n],
  memoByte: [0n, 500n],
  /** Foreign code. */
  hook: [0n, 400_000n],
} as const satisfies Record<string, Part>;

/** The bounds of a transfer, without the search of the token account's address. */
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

/** The bounds of the making or the advance of a nonce account. */
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

declare const UNIT: unique symbol;

/**
 * A value with a unit that only the compiler sees. A value of one unit cannot be used as another. A value without unit
 * can be used as any, so that parsers, SQL rows and literals need no cast.
 */
type Unit<T, Name extends string> = T & { readonly [UNIT]?: Name };

/** Number of a slot. Some slots have no block, so a block's slot is at least its height. */
export type Slot = Unit<bigint, 'slot'>;
/** Number of blocks below a block. Blockhashes expire by height, never by slot. */
export type BlockHeight = Unit<bigint, 'block height'>;
export type Lamports = Unit<bigint, 'lamports'>;
/** base58 of 32 bytes. */
export type Address = Unit<string, 'address'>;
/** base58 of 64 bytes: the first signature of a transaction, which identifies it. */
export type Signature = Unit<string, 'signature'>;
/** base58 of 32 bytes: the hash of a block. */
export type Blockhash = Unit<string, 'blockhash'>;

/** `one > other` for values of the same unit. The plain operator would also compare a slot with a height. */
export function isAbove<T extends bigint>(one: T, other: NoInfer<T>): boolean {
  return one > other;
}

type Some = readonly [bigint, ...bigint[]];

/** The minimum; `Math.min` does not accept bigint. */
export function lowest([first, ...others]: Some): bigint {
  return others.reduce((low, value) => (value < low ? value : low), first);
}

export function highest([first, ...others]: Some): bigint {
  return others.reduce((high, value) => (value > high ? value : high), first);
}

export function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}

type Some = readonly [bigint, ...bigint[]];

/** The least of some values; `Math.min` takes no bigint. */
export function lowest([first, ...others]: Some): bigint {
  return others.reduce((low, value) => (value < low ? value : low), first);
}

/** The greatest of some values. */
export function highest([first, ...others]: Some): bigint {
  return others.reduce((high, value) => (value > high ? value : high), first);
}

/** Order of a sort, from the least to the greatest. */
export function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}

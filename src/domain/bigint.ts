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

const LARGE_INTEGER = /"\\u0000int:(-?\d+)"/g;

/** JSON with bigint written as a bare integer, as Solana nodes write u64. */
export function toJson(value: unknown): string {
  let large = false;
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'bigint') return item;
    const small = Number(item);
    if (Number.isSafeInteger(small)) return small;
    large = true;
    return `\u0000int:${item}`;
  });
  return large ? text.replace(LARGE_INTEGER, '$1') : text;
}

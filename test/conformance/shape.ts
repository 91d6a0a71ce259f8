/** Keys whose text is part of the contract, not of the moment. */
const FIXED_TEXT = new Set([
  'type',
  'program',
  'extension',
  'state',
  'version',
  'rewardType',
  'jsonrpc',
  'source',
  'authorityType',
  'accountState',
]);

/** The shape of an answer without its values: keys in order of the alphabet, kinds of values, one entry per kind of item. */
export function shapeOf(value: unknown, key = ''): unknown {
  if (value === null) return 'null';
  if (Array.isArray(value)) {
    const shapes = new Map(value.map((item: unknown) => [JSON.stringify(shapeOf(item)), shapeOf(item)]));
    return [...shapes.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, shape]) => shape);
  }
  if (typeof value === 'object') {
    return Object.fromEntries(
      Object.entries(value)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, item]) => [name, shapeOf(item, name)]),
    );
  }
  if (typeof value === 'string' && FIXED_TEXT.has(key) && !/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value))
    return `=${value}`;
  return typeof value;
}

export interface Pattern {
  readonly segments: readonly string[];
}

/** Patterns of equal shape match the same paths: names of `:name` segments are ignored. */
export function shapeOf({ segments }: Pattern): string {
  return segments.map((one) => (one.startsWith(':') ? ':' : one)).join('/');
}

/** The shape for an upstream that parses paths leniently: {@link lenientForm}. */
export function lenientShapeOf({ segments }: Pattern): string {
  return shapeOf({ segments: segments.map((one) => (one.startsWith(':') ? one : lenientForm(one))) });
}

/**
 * A segment as a lenient upstream may parse it: decoded, in lower case, without the spaces and dots that Windows
 * drops from file names. Some decoders treat `+` as a space.
 */
export function lenientForm(segment: string): string {
  return decodeURIComponent(segment)
    .replaceAll('+', ' ')
    .toLowerCase()
    .replace(/[. ]+$/, '')
    .replace(/^ +/, '');
}

/** True if the pattern matches these path segments. `/files/*` matches `/files/`, but not `/files`. */
export function fits({ segments: pattern }: Pattern, segments: readonly string[]): boolean {
  const fixed = fixedOf(pattern);
  const isOpen = fixed.length < pattern.length;
  return (
    (isOpen ? segments.length > fixed.length : segments.length === fixed.length) &&
    fixed.every((one, index) => (one.startsWith(':') ? segments[index] !== '' : one === segments[index]))
  );
}

/** True if a lenient upstream may match the path to the pattern. `/files/*` then covers `/files`, its index. */
export function fitsLeniently({ segments: pattern }: Pattern, segments: readonly string[]): boolean {
  const fixed = fixedOf(pattern).filter((one) => one !== '');
  const isOpen = pattern.at(-1) === '*';
  const read = segments.map(lenientForm).filter((one) => one !== '');
  return (
    (isOpen ? read.length >= fixed.length : read.length === fixed.length) &&
    fixed.every((one, index) => one.startsWith(':') || lenientForm(one) === read[index])
  );
}

function fixedOf(pattern: readonly string[]): readonly string[] {
  return pattern.at(-1) === '*' ? pattern.slice(0, -1) : pattern;
}

/** Sorts by precedence: at the first difference a literal precedes a `:name`, and a `:name` precedes `*`. */
export function narrowerFirst(one: Pattern, other: Pattern): number {
  return widths(one, other).find((difference) => difference !== 0) ?? 0;
}

/** True if `other` matches all paths of `one` and more. */
export function isNarrower(one: Pattern, other: Pattern): boolean {
  const differences = widths(one, other);
  return differences.every((by) => by <= 0) && differences.some((by) => by < 0);
}

/** A path that both patterns match although neither is narrower; null if there is none. */
export function crossing(one: Pattern, other: Pattern): string | null {
  const path = commonPath(one.segments, other.segments);
  const differences = widths(one, other);
  const isCrossed = differences.some((by) => by < 0) && differences.some((by) => by > 0);
  return isCrossed ? path : null;
}

/** Positive where `one` is wider. Ends at the first `*`, which covers all later segments. */
function widths(one: Pattern, other: Pattern): readonly number[] {
  const differences: number[] = [];
  const length = Math.max(one.segments.length, other.segments.length);
  for (let index = 0; index < length; index += 1) {
    const [a, b] = [one.segments[index], other.segments[index]];
    differences.push(width(a) - width(b));
    if (a === '*' || b === '*') break;
  }
  return differences;
}

function width(segment: string | undefined): number {
  if (segment === '*') return 2;
  return segment?.startsWith(':') ? 1 : 0;
}

function commonPath(one: readonly string[], other: readonly string[]): string | null {
  let path = '';
  for (let index = 0; ; index += 1) {
    const [a, b] = [one[index], other[index]];
    if (a === undefined && b === undefined) return path;
    if (a === undefined || b === undefined) return null;
    if (a === '*' || b === '*')
      return [path, ...(a === '*' ? other : one).slice(index).map(example)].join('/');
    if (isLiteral(a) && isLiteral(b) && lenientForm(a) !== lenientForm(b)) return null;
    path += `/${example(isLiteral(a) ? a : b)}`;
  }
}

function isLiteral(segment: string): boolean {
  return segment !== '*' && !segment.startsWith(':');
}

function example(segment: string): string {
  return isLiteral(segment) ? segment : 'x';
}

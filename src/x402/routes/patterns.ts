export interface Pattern {
  readonly segments: readonly string[];
}

/** A text that is equal for patterns that match the same paths: without the names of `:name` segments. */
export function shapeOf({ segments }: Pattern): string {
  return segments.map((one) => (one.startsWith(':') ? ':' : one)).join('/');
}

/** Like {@link shapeOf}, for an upstream that parses paths leniently: see {@link lenientForm}. */
export function lenientShapeOf({ segments }: Pattern): string {
  return shapeOf({ segments: segments.map((one) => (one.startsWith(':') ? one : lenientForm(one))) });
}

/**
 * A segment as a lenient upstream may parse it: decoded, in lower case, without the spaces and dots that Windows
 * drops from file names. Some decoders treat `+` as a space.
 */
export function lenientForm(segment: string): string {
  return decoded(segment)
    .replaceAll('+', ' ')
    .toLowerCase()
    .replace(/[. ]+$/, '')
    .replace(/^ +/, '');
}

/** The text of a segment. The base path of an upstream can have bytes that are not UTF-8. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** True if the pattern matches the path with these segments. `/files/*` matches `/files/`, but not `/files`. */
export function matchesPattern({ segments: pattern }: Pattern, segments: readonly string[]): boolean {
  const fixedSegments = fixedSegmentsOf(pattern);
  const isOpen = fixedSegments.length < pattern.length;
  return (
    (isOpen ? segments.length > fixedSegments.length : segments.length === fixedSegments.length) &&
    fixedSegments.every((one, index) =>
      one.startsWith(':') ? segments[index] !== '' : one === segments[index],
    )
  );
}

/**
 * True if a lenient upstream may match the path to the pattern. For such an upstream, `/files/*` also matches `/files`.
 */
export function matchesLeniently({ segments: pattern }: Pattern, segments: readonly string[]): boolean {
  const fixedSegments = fixedSegmentsOf(pattern).filter((one) => one !== '');
  const isOpen = pattern.at(-1) === '*';
  const lenientSegments = segments.map(lenientForm).filter((one) => one !== '');
  return (
    (isOpen
      ? lenientSegments.length >= fixedSegments.length
      : lenientSegments.length === fixedSegments.length) &&
    fixedSegments.every((one, index) => one.startsWith(':') || lenientForm(one) === lenientSegments[index])
  );
}

function fixedSegmentsOf(pattern: readonly string[]): readonly string[] {
  return pattern.at(-1) === '*' ? pattern.slice(0, -1) : pattern;
}

/**
 * Compares patterns by precedence: at the first difference a literal precedes a `:name`, and a `:name` precedes `*`.
 */
export function compareByPrecedence(one: Pattern, other: Pattern): number {
  return widthDifferences(one, other).find((difference) => difference !== 0) ?? 0;
}

/** True if `other` is wider in some segments and narrower in none. */
export function isNarrower(one: Pattern, other: Pattern): boolean {
  const differences = widthDifferences(one, other);
  return differences.every((by) => by <= 0) && differences.some((by) => by < 0);
}

/** An example of a path that both patterns match although neither is narrower; null if there is none. */
export function ambiguousPath(one: Pattern, other: Pattern): string | null {
  const path = commonPath(one.segments, other.segments);
  const differences = widthDifferences(one, other);
  const isCrossed = differences.some((by) => by < 0) && differences.some((by) => by > 0);
  return isCrossed ? path : null;
}

/** True if a lenient upstream may match one path to both patterns. `/files/*` then also matches `/files`. */
export function meetsLeniently(one: Pattern, other: Pattern): boolean {
  for (let index = 0; ; index += 1) {
    const [a, b] = [one.segments[index], other.segments[index]];
    if (a === '*' || b === '*' || (a === undefined && b === undefined)) return true;
    if (a === undefined || b === undefined) return false;
    if (isLiteral(a) && isLiteral(b) && lenientForm(a) !== lenientForm(b)) return false;
  }
}

/** For each segment: positive if `one` is wider there. Ends at the first `*`, which covers all later segments. */
function widthDifferences(one: Pattern, other: Pattern): readonly number[] {
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

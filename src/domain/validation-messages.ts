/** The fields of a Zod issue that its message depends on. */
interface Issue {
  readonly code: string;
  readonly input?: unknown;
  readonly expected?: string;
  readonly values?: readonly unknown[];
  readonly origin?: string;
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  readonly inclusive?: boolean;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};
const PARTS: Readonly<Record<string, string>> = { string: 'characters', array: 'entries' };

/** Message for an invalid value, which callers put after the field's name. A message in the schema has precedence. */
export function describeIssue(issue: Issue): string | undefined {
  const { code, input, expected = '', values = [], origin = '', inclusive = true } = issue;
  switch (code) {
    case 'invalid_type':
      return input === undefined ? 'is missing' : `must be ${KINDS[expected] ?? expected}`;
    case 'invalid_value':
      return input === undefined ? 'is missing' : `must be ${anyOf(values)}`;
    case 'too_small':
      return atLeast(origin, issue.minimum ?? 0, inclusive);
    case 'too_big':
      return atMost(origin, issue.maximum ?? 0, inclusive);
    case 'unrecognized_keys':
      return 'is not a known field';
    default:
      return undefined;
  }
}

function anyOf(values: readonly unknown[]): string {
  const [only] = values;
  return values.length === 1 ? String(only) : `one of ${values.join(', ')}`;
}

function atLeast(origin: string, least: number | bigint, inclusive: boolean): string {
  const parts = PARTS[origin];
  if (parts === undefined) return inclusive ? `must be at least ${least}` : `must be above ${least}`;
  return least === 1 ? 'must not be empty' : `must have at least ${least} ${parts}`;
}

function atMost(origin: string, most: number | bigint, inclusive: boolean): string {
  const parts = PARTS[origin];
  if (parts === undefined) return inclusive ? `must be at most ${most}` : `must be below ${most}`;
  return `must have at most ${most} ${parts}`;
}

import type { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};
const PARTS: Readonly<Record<string, string>> = { string: 'characters', array: 'entries' };

/** Message for an invalid value, after the field's name. Messages in a schema have precedence. */
export function describeIssue(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is missing' : `must be ${anyOf(issue.values)}`;
    case 'too_small':
      return atLeast(issue.origin, issue.minimum, issue.inclusive !== false);
    case 'too_big':
      return atMost(issue.origin, issue.maximum, issue.inclusive !== false);
    case 'unrecognized_keys':
      return 'is not known here';
    case 'invalid_format':
    case 'not_multiple_of':
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
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

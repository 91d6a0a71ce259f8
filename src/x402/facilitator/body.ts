import type { FastifyInstance } from 'fastify';
import { parse } from 'lossless-json';

/** A malformed request; `message` names the field. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  readonly statusCode = 400;
}

/** Requests of official clients, with extensions, have fewer than half of these levels. */
const MAX_DEPTH = 32;

const NOT_JSON = 'body: must be JSON, without the keys __proto__ and constructor.prototype';

/**
 * Accepts only JSON bodies. Refuses deep nesting, the keys `__proto__` and `constructor.prototype`, and a key that
 * occurs twice in one object with different values: parsers disagree about which value counts.
 */
export function acceptStrictJson(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (depthOf(body) > MAX_DEPTH)
      return done(new Unreadable(`body: must not be nested deeper than ${MAX_DEPTH} levels`));
    const key = duplicateKey(body);
    if (key !== null) return done(new Unreadable(`body: the key ${key} occurs twice, with different values`));
    return parseJson(request, body, (error, value) =>
      error === null ? done(null, value) : done(new Unreadable(NOT_JSON)),
    );
  });
}

/** Maximum nesting of brackets outside strings. Runs before the recursive parsers. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isString && character === '\\') at += 1;
    else if (character === '"') isString = !isString;
    else if (isString) continue;
    else if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth);
    else if (character === '}' || character === ']') depth -= 1;
  }
  return deepest;
}

const LONGEST_NAME = 100;

/** Null if no key occurs twice, or if the text is not JSON. */
function duplicateKey(text: string): string | null {
  let found: string | null = null;
  try {
    parse(text, undefined, {
      onDuplicateKey: ({ key }) => {
        found ??= JSON.stringify(key.slice(0, LONGEST_NAME));
      },
    });
  } catch {
    return null;
  }
  return found;
}

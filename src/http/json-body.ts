import type { FastifyInstance } from 'fastify';
import { parse } from 'lossless-json';
import { DomainError } from '../domain/errors.ts';

/**
 * Bodies are JSON and nothing else. A key that stands twice with different values is refused: readers of one text differ over
 * which of the two counts, and here one of them may be an amount.
 */
export function acceptOnlyJson(app: FastifyInstance): void {
  const parseStrictly = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    const ambiguous = ambiguousKey(body);
    if (ambiguous === null) return parseStrictly(request, body, done);
    const message = `${ambiguous} stands twice in the body, with different values`;
    done(new DomainError('InvalidRequest', message, { field: ambiguous }));
  });
}

/** The first key that stands in one object with two values; null where there is none, or no JSON. */
function ambiguousKey(text: string): string | null {
  let found: string | null = null;
  try {
    parse(text, undefined, {
      onDuplicateKey: ({ key }) => {
        found ??= key;
      },
    });
  } catch {
    return null;
  }
  return found;
}

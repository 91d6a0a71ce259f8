import type { FastifyInstance } from 'fastify';
import { parse } from 'lossless-json';
import { DomainError } from '../domain/errors.ts';

/** Accepts only JSON. Refuses a key with two values, such as two amounts: parsers disagree about which one counts. */
export function acceptOnlyJson(app: FastifyInstance): void {
  const parseStrictly = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    const ambiguous = ambiguousKey(body);
    if (ambiguous === null) return parseStrictly(request, body, done);
    const message = `${ambiguous} occurs twice in the body, with different values`;
    done(new DomainError('InvalidRequest', message, { field: ambiguous }));
  });
}

/** The first key with two values in one object; null if there is none, or if the text is not JSON. */
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

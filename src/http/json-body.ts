import type { FastifyInstance } from 'fastify';
import { parse } from 'lossless-json';
import { DomainError } from '../domain/errors.ts';

/** Accepts only JSON. Refuses an object with two values for a key, because parsers disagree about which value counts. */
export function acceptOnlyJson(app: FastifyInstance): void {
  const parseStrictly = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    const duplicate = duplicateKey(body);
    if (duplicate === null) return parseStrictly(request, body, done);
    const message = `the key ${duplicate} occurs twice in the body, with different values`;
    done(new DomainError('InvalidRequest', message, { field: duplicate }));
  });
}

/** The first key with two values in one object; null if there is no such key, or if `text` is not JSON. */
function duplicateKey(text: string): string | null {
  let duplicate: string | null = null;
  try {
    parse(text, undefined, {
      onDuplicateKey: ({ key }) => {
        duplicate ??= key;
      },
    });
  } catch {
    return null;
  }
  return duplicate;
}

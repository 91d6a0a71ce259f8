import type { FastifyInstance } from 'fastify';
import { ambiguousKeys, isShallow, MAX_DEPTH } from '../formats/json.ts';

/** A malformed request; `message` names the field. */
export class MalformedRequest extends Error {
  override readonly name = 'MalformedRequest';
  readonly statusCode = 400;
}

const LONGEST_NAME = 100;

/** Accepts only JSON bodies, without deep nesting, prototype keys, and keys with two values in one object. */
export function acceptStrictJson(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) =>
    parseJson(request, body, (error, value) => {
      const fault = error === null ? faultOf(value, body) : NOT_JSON;
      return fault === null ? done(null, value) : done(new MalformedRequest(`body: ${fault}`));
    }),
  );
}

const NOT_JSON = 'must be JSON, without the keys __proto__ and constructor.prototype';

function faultOf(value: unknown, body: string): string | null {
  if (!isShallow(value)) return `must not be nested deeper than ${MAX_DEPTH} levels`;
  const [key] = ambiguousKeys(body);
  if (key === undefined) return null;
  return `the key ${JSON.stringify(key.slice(0, LONGEST_NAME))} occurs twice, with different values`;
}

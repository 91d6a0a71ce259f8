import { exactJson } from '../formats/exact-json.ts';
import { EXPOSED_HEADERS } from '../formats/payment-required.ts';

/** What the gateway answers; a body of chunks is passed on as it comes. */
export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Gives up what of the body is not sent. */
  readonly discard?: () => void;
}

/** So that a script of any origin may read terms and answers. */
export const ANY_ORIGIN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED_HEADERS,
};

/** A JSON answer that no cache keeps. */
export function json(status: number, body: object, headers: GatewayAnswer['headers'] = {}): GatewayAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
    body: exactJson(body),
  };
}

/** The answer of the same with more headers, or others. */
export function withHeaders(answer: GatewayAnswer, headers: GatewayAnswer['headers']): GatewayAnswer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

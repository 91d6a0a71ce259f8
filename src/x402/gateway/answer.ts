import { exactJson } from '../formats/exact-json.ts';
import { EXPOSED_HEADERS } from '../formats/payment-required.ts';

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Discards the unsent rest of the body. */
  readonly discard?: () => void;
}

/** Lets scripts of any origin read terms and responses. */
export const ANY_ORIGIN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED_HEADERS,
};

export function json(status: number, body: object, headers: GatewayAnswer['headers'] = {}): GatewayAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
    body: exactJson(body),
  };
}

export function withHeaders(answer: GatewayAnswer, headers: GatewayAnswer['headers']): GatewayAnswer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

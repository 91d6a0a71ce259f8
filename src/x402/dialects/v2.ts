import { isDeepStrictEqual } from 'node:util';
import type { Proof, Resource, Terms } from '../terms.ts';
import {
  at,
  isObject,
  type JsonObject,
  readBase64,
  readHeaderJson,
  textAt,
  writeHeaderJson,
} from './header-json.ts';

/** A blockhash that spares buyers the question for one. Never matched: it is another one in the next quote. */
export interface BlockhashHint {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}

/** How a settlement ended, in the words of version 2 and of version 1, but for the name of the network. */
export interface SettleResult {
  readonly success: boolean;
  readonly errorReason?: string;
  readonly errorMessage?: string;
  readonly payer?: string;
  /** base58 signature; empty where there is none. */
  readonly transaction: string;
  /** Base units. */
  readonly amount?: string;
}

const HINTS: ReadonlySet<string> = new Set(['recentBlockhash', 'lastValidBlockHeight']);
const IDENTIFIER = 'payment-identifier';
const IDENTIFIER_TEXT = /^[A-Za-z0-9_-]{16,128}$/;

/** Payment requirements of version 2. */
export function requirementsV2(terms: Terms, hint: BlockhashHint | null = null): JsonObject {
  const { network, asset, amount, payTo, maxTimeoutSeconds, feePayer, memo } = terms;
  return {
    scheme: 'exact',
    network: network.caip2,
    asset,
    amount: amount.toString(),
    payTo,
    maxTimeoutSeconds,
    extra: {
      feePayer,
      ...(memo === null ? {} : { memo }),
      ...(hint === null
        ? {}
        : {
            recentBlockhash: hint.blockhash,
            lastValidBlockHeight: hint.lastValidBlockHeight.toString(),
          }),
    },
  };
}

/** What a 402 of version 2 says in its header PAYMENT-REQUIRED. */
export function paymentRequiredV2(
  terms: Terms,
  resource: Resource,
  error: string,
  options: { readonly hint: BlockhashHint | null; readonly identifier: 'off' | 'optional' | 'required' },
): string {
  return writeHeaderJson({
    x402Version: 2,
    error,
    resource,
    accepts: [requirementsV2(terms, options.hint)],
    ...(options.identifier === 'off'
      ? {}
      : { extensions: { [IDENTIFIER]: identifierExtension(options.identifier === 'required') } }),
  });
}

function identifierExtension(required: boolean): JsonObject {
  return {
    info: { required },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        required: { type: 'boolean' },
        id: { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' },
      },
      required: ['required'],
    },
  };
}

/** The payment in a PAYMENT-SIGNATURE; why it is none else. */
export function readPaymentSignature(header: string): Extract<Proof, { dialect: 'v2' }> | string {
  const payload = readHeaderJson(header);
  if (payload === null) return 'it is not base64 of a JSON object';
  if (at(payload, 'x402Version') !== 2) return 'x402Version must be 2';
  const accepted = at(payload, 'accepted');
  if (!isObject(accepted)) return 'accepted must be the payment requirements that were chosen';
  const wire = readBase64(at(at(payload, 'payload'), 'transaction'));
  if (wire === null) return 'payload.transaction must be base64 of a transaction';
  const info = at(at(at(payload, 'extensions'), IDENTIFIER), 'info');
  return { dialect: 'v2', wire, accepted, paymentIdentifier: textAt(info, 'id') };
}

/** True where the identifier has the form that the extension demands. */
export function isPaymentIdentifier(text: string): boolean {
  return IDENTIFIER_TEXT.test(text);
}

/** True where the buyer accepted these terms: all is equal, and `extra` may hold more. Source: x402 1.2. */
export function acceptsTerms(accepted: JsonObject, terms: Terms): boolean {
  const { extra: wantedExtra, ...wanted } = requirementsV2(terms);
  const { extra, ...rest } = accepted;
  if (!isDeepStrictEqual({ ...rest }, wanted) || !isObject(wantedExtra)) return false;
  return Object.entries(wantedExtra).every(
    ([key, value]) => HINTS.has(key) || isDeepStrictEqual(at(extra, key), value),
  );
}

/** The header PAYMENT-RESPONSE. */
export function paymentResponseV2(result: SettleResult, network: Terms['network']): string {
  return writeHeaderJson({ ...result, network: network.caip2 });
}

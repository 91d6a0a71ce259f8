import { isDeepStrictEqual } from 'node:util';
import type { Proof, Resource, Terms } from '../terms.ts';
import { at, isObject, type JsonObject, readBase64, readHeaderJson, writeHeaderJson } from './header-json.ts';
import { clipped, shortResource } from './header-size.ts';

/** Saves buyers a blockhash request. Not compared with `accepted`: each quote has another one. */
export interface BlockhashHint {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}

/** SettleResponse of versions 1 and 2 without the network. */
export interface SettleResult {
  readonly success: boolean;
  readonly errorReason?: string;
  readonly errorMessage?: string;
  readonly payer?: string;
  /** base58 signature; empty without one. */
  readonly transaction: string;
  /** Base units. */
  readonly amount?: string;
}

export type IdentifierUse = 'off' | 'optional' | 'required';

const MAX_ERROR_BYTES = 512;
const IDENTIFIER = 'payment-identifier';
const IDENTIFIER_TEXT = /^[A-Za-z0-9_-]{16,128}$/;

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

/** Value of the header PAYMENT-REQUIRED. */
export function paymentRequiredV2(
  terms: Terms,
  resource: Resource,
  error: string,
  { hint, identifier }: { readonly hint: BlockhashHint | null; readonly identifier: IdentifierUse },
): string {
  const info = identifierInfo(identifier);
  return writeHeaderJson({
    x402Version: 2,
    error: clipped(error, MAX_ERROR_BYTES),
    resource: shortResource(resource),
    accepts: [requirementsV2(terms, hint)],
    ...(info === null ? {} : { extensions: { [IDENTIFIER]: identifierExtension(info) } }),
  });
}

function identifierInfo(identifier: IdentifierUse): JsonObject | null {
  return identifier === 'off' ? null : { required: identifier === 'required' };
}

function identifierExtension(info: JsonObject): JsonObject {
  return {
    info,
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

/** Parses PAYMENT-SIGNATURE. Returns a reason if it is invalid. */
export function readPaymentSignature(header: string): Extract<Proof, { dialect: 'v2' }> | string {
  const payload = readHeaderJson(header);
  if (payload === null) return 'it is not base64 of a JSON object';
  if (at(payload, 'x402Version') !== 2) return 'x402Version must be 2';
  const accepted = at(payload, 'accepted');
  if (!isObject(accepted)) return 'accepted must be the payment requirements that were chosen';
  const wire = readBase64(at(at(payload, 'payload'), 'transaction'));
  if (wire === null) return 'payload.transaction must be base64 of a transaction';
  const extensions = at(payload, 'extensions') ?? {};
  if (!isObject(extensions)) return 'extensions must be an object';
  const id = at(infoOf(extensions), 'id') ?? null;
  if (id !== null && typeof id !== 'string') return `extensions["${IDENTIFIER}"].info.id must be a text`;
  return { dialect: 'v2', wire, accepted, paymentIdentifier: id, extensions };
}

function infoOf(extensions: JsonObject): unknown {
  return at(at(extensions, IDENTIFIER), 'info');
}

/**
 * True if the payment's extensions contain the advertised `info`. Buyers may add keys to it, or omit all
 * extensions. If it is false, the reason is `extension_echo_mismatch`. Source: x402 specification, version 2.
 */
export function echoesExtensions(extensions: JsonObject, identifier: IdentifierUse): boolean {
  const advertised = identifierInfo(identifier);
  if (advertised === null || !Object.hasOwn(extensions, IDENTIFIER)) return true;
  return contains(infoOf(extensions), advertised);
}

export function isPaymentIdentifier(text: string): boolean {
  return IDENTIFIER_TEXT.test(text);
}

/** True if all fields are equal; `extra` may contain more. Source: x402 specification, version 2. */
export function acceptsTerms(accepted: JsonObject, terms: Terms): boolean {
  // Without hints: those in `accepted` come from an earlier quote, and count as additional keys of `extra`.
  const { extra: wantedExtra, ...wanted } = requirementsV2(terms);
  const { extra, ...rest } = accepted;
  return isDeepStrictEqual({ ...rest }, wanted) && isObject(wantedExtra) && contains(extra, wantedExtra);
}

function contains(given: unknown, wanted: JsonObject): boolean {
  return Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(at(given, key), value));
}

/** Value of the header PAYMENT-RESPONSE. */
export function paymentResponseV2(result: SettleResult, network: Terms['network']): string {
  return writeHeaderJson({ ...result, network: network.caip2 });
}

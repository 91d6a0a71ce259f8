import { isDeepStrictEqual } from 'node:util';
import { isSignature } from '../../solana/rpc/node-text.ts';
import type { Proof, Terms } from '../terms.ts';
import { at, isObject, type JsonObject, readBase64, readHeaderJson, textAt } from './json.ts';
import { IDENTIFIER, type IdentifierUse, identifierInfo, requirementsV2 } from './payment-required.ts';

type Header = 'PAYMENT-SIGNATURE' | 'X-PAYMENT';

export type PresentedPayment =
  | { readonly kind: 'none' }
  | { readonly kind: 'proof'; readonly proof: Proof }
  | { readonly kind: 'undecodable'; readonly header: Header; readonly reason: string };

const IDENTIFIER_TEXT = /^[A-Za-z0-9_-]{16,128}$/;

/** True if the request headers, with lower-case names, have a payment in any form. */
export function hasPayment(headers: Readonly<Record<string, unknown>>): boolean {
  return at(headers, 'payment-signature') !== undefined || at(headers, 'x-payment') !== undefined;
}

/** Reads the payment in request headers with lower-case names. PAYMENT-SIGNATURE has precedence over X-PAYMENT. */
export function readPayment(headers: Readonly<Record<string, unknown>>): PresentedPayment {
  const signature = at(headers, 'payment-signature');
  if (signature !== undefined) return readHeader('PAYMENT-SIGNATURE', signature, readPaymentSignature);
  const payment = at(headers, 'x-payment');
  return payment === undefined ? { kind: 'none' } : readHeader('X-PAYMENT', payment, readXPayment);
}

/**
 * A duplicate header is refused: Node joins the values with a comma, which is not base64; other servers return an
 * array.
 */
function readHeader(
  header: Header,
  value: unknown,
  read: (text: string) => Proof | string,
): PresentedPayment {
  const proof = typeof value === 'string' ? read(value) : 'the header must be sent once';
  return typeof proof === 'string'
    ? { kind: 'undecodable', header, reason: proof }
    : { kind: 'proof', proof };
}

/**
 * Reads version 1 or one of the interface's two dialects; their fields in `payload` differ. Returns a reason if
 * invalid.
 */
function readXPayment(header: string): Proof | string {
  const payment = readHeaderJson(header);
  if (payment === null) return 'the header is not base64 of a JSON object';
  if (at(payment, 'x402Version') !== 1) return 'x402Version must be 1';
  if (at(payment, 'scheme') !== 'exact') return 'scheme must be exact';
  const network = textAt(payment, 'network');
  if (network === null) return 'network must be a string';
  const payload = at(payment, 'payload');
  const presentFields = ['transaction', 'serializedTransaction', 'signature'].filter(
    (key) => at(payload, key) !== undefined,
  );
  if (presentFields.length !== 1)
    return 'payload must have exactly one of transaction, serializedTransaction, or signature with quoteToken';
  if (presentFields[0] === 'signature') return readSubmitted(payload, network);
  const wire = readBase64(at(payload, presentFields[0] ?? ''));
  if (wire === null) return `payload.${presentFields[0]} must be base64 of a transaction`;
  return { dialect: presentFields[0] === 'transaction' ? 'v1' : 'example', wire, network };
}

function readSubmitted(payload: unknown, network: string): Proof | string {
  const [signature, quoteToken] = [textAt(payload, 'signature'), textAt(payload, 'quoteToken')];
  if (signature === null || !isSignature(signature)) return 'payload.signature must be base58 of 64 bytes';
  if (quoteToken === null) return 'payload.quoteToken must be the quoteToken of the 402 response';
  return { dialect: 'submitted', signature, quoteToken, network };
}

/** Parses PAYMENT-SIGNATURE. Returns a reason if the header is invalid. */
function readPaymentSignature(header: string): Proof | string {
  const payload = readHeaderJson(header);
  if (payload === null) return 'the header is not base64 of a JSON object';
  if (at(payload, 'x402Version') !== 2) return 'x402Version must be 2';
  const accepted = at(payload, 'accepted');
  if (!isObject(accepted)) return 'accepted must be the chosen entry of `accepts` in the 402 response';
  const wire = readBase64(at(at(payload, 'payload'), 'transaction'));
  if (wire === null) return 'payload.transaction must be base64 of a transaction';
  const extensions = at(payload, 'extensions') ?? {};
  if (!isObject(extensions)) return 'extensions must be an object';
  const id = at(infoOf(extensions), 'id') ?? null;
  if (id !== null && typeof id !== 'string') return `extensions["${IDENTIFIER}"].info.id must be a string`;
  return { dialect: 'v2', wire, accepted, paymentIdentifier: id, extensions };
}

function infoOf(extensions: JsonObject): unknown {
  return at(at(extensions, IDENTIFIER), 'info');
}

/**
 * True if the payment's extensions repeat the advertised `info`. Buyers may add keys, or omit the extension. If false,
 * the refusal's reason is `extension_echo_mismatch`. Source: x402 specification, version 2.
 */
export function echoesExtensions(extensions: JsonObject, identifier: IdentifierUse): boolean {
  const advertised = identifierInfo(identifier);
  if (advertised === null || !Object.hasOwn(extensions, IDENTIFIER)) return true;
  return contains(infoOf(extensions), advertised);
}

export function isPaymentIdentifier(text: string): boolean {
  return IDENTIFIER_TEXT.test(text);
}

/**
 * True if `accepted` has exactly the fields of the terms; `extra` may have more. Source: x402 specification, version 2.
 */
export function acceptsTerms(accepted: JsonObject, terms: Terms): boolean {
  // Blockhash hints are not compared: those in `accepted` come from an earlier quote, as additional keys of `extra`.
  const { extra: requiredExtra, ...required } = requirementsV2(terms);
  const { extra, ...rest } = accepted;
  return (
    isDeepStrictEqual({ ...rest }, required) && isObject(requiredExtra) && contains(extra, requiredExtra)
  );
}

function contains(value: unknown, part: JsonObject): boolean {
  return Object.entries(part).every(([key, field]) => isDeepStrictEqual(at(value, key), field));
}

import { base58 } from '@scure/base';
import type { Proof } from '../terms.ts';
import { at, readBase64, readHeaderJson, textAt } from './header-json.ts';
import { readPaymentSignature } from './v2.ts';

export type ShownPayment =
  | { readonly kind: 'none' }
  | { readonly kind: 'proof'; readonly proof: Proof }
  | {
      readonly kind: 'undecodable';
      readonly header: 'PAYMENT-SIGNATURE' | 'X-PAYMENT';
      readonly reason: string;
    };

const SIGNATURE_BYTES = 64;
/** base58 of 64 bytes. The upper bound protects the decoder, which takes quadratic time. */
const SIGNATURE_TEXT = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/** Reads a request's payment; header names are in lower case. PAYMENT-SIGNATURE has precedence over X-PAYMENT. */
export function readPayment(headers: Readonly<Record<string, unknown>>): ShownPayment {
  const signature = at(headers, 'payment-signature');
  if (signature !== undefined) return shown('PAYMENT-SIGNATURE', readOnce(signature, readPaymentSignature));
  const payment = at(headers, 'x-payment');
  return payment === undefined ? { kind: 'none' } : shown('X-PAYMENT', readOnce(payment, readXPayment));
}

function shown(header: 'PAYMENT-SIGNATURE' | 'X-PAYMENT', read: Proof | string): ShownPayment {
  if (typeof read === 'string') return { kind: 'undecodable', header, reason: read };
  return { kind: 'proof', proof: read };
}

/** Node joins duplicate headers with a comma, which is not base64; other servers return an array. */
function readOnce(value: unknown, read: (header: string) => Proof | string): Proof | string {
  return typeof value === 'string' ? read(value) : 'the header must be sent once';
}

/** Version 1, or one of the interface's two forms, which have different fields in `payload`. */
function readXPayment(header: string): Proof | string {
  const payment = readHeaderJson(header);
  if (payment === null) return 'it is not base64 of a JSON object';
  if (at(payment, 'x402Version') !== 1) return 'x402Version must be 1';
  if (at(payment, 'scheme') !== 'exact') return 'scheme must be exact';
  const network = textAt(payment, 'network');
  if (network === null) return 'network must be a text';
  const payload = at(payment, 'payload');
  const forms = ['transaction', 'serializedTransaction', 'signature'].filter(
    (key) => at(payload, key) !== undefined,
  );
  if (forms.length !== 1)
    return 'payload must have one of transaction, serializedTransaction and signature with quoteToken';
  if (forms[0] === 'signature') return readSubmitted(payload, network);
  const wire = readBase64(at(payload, forms[0] ?? ''));
  if (wire === null) return `payload.${forms[0]} must be base64 of a transaction`;
  return { dialect: forms[0] === 'transaction' ? 'v1' : 'example', wire, network };
}

function readSubmitted(payload: unknown, network: string): Proof | string {
  const [signature, quoteToken] = [textAt(payload, 'signature'), textAt(payload, 'quoteToken')];
  if (signature === null || !isSignature(signature)) return 'payload.signature must be base58 of 64 bytes';
  if (quoteToken === null) return 'payload.quoteToken must be the one of the 402';
  return { dialect: 'submitted', signature, quoteToken, network };
}

function isSignature(text: string): boolean {
  return SIGNATURE_TEXT.test(text) && base58.decode(text).length === SIGNATURE_BYTES;
}

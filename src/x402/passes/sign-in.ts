import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';
import { z } from 'zod';
import { isAddress } from '../../domain/address.ts';
import { readHeaderJson } from '../formats/json.ts';
import type { PassRefusal } from './judge.ts';

export const SIGN_IN = 'sign-in-with-x';

/** The resource for which a wallet signs in. */
export interface SignInPlace {
  /** Public URL of the gateway, without trailing slash. */
  readonly publicUrl: string;
  readonly route: string;
  /** Path of the request, without its query. */
  readonly path: string;
  /** CAIP-2 id of the network. */
  readonly network: string;
}

/** A challenge, as far as it differs from one to the next. */
interface Challenge {
  readonly nonce: string;
  readonly issuedAt: string;
  readonly expirationTime: string;
}

const VALID_MS = 300_000;
const STATEMENT = 'Show that this wallet has paid for this resource.';
const VERSION = '1';
/** The nonce has 32 hex digits: a random salt, and a tag that binds the challenge to its resource and its times. */
const SALT_BYTES = 4;
const NONCE_DIGITS = 32;
const SIGNATURE_BYTES = 64;
/** Keeps PAYMENT-REQUIRED below 8 KB. */
const MAX_URI_BYTES = 256;

/** Only the fields that a client adds, because the header PAYMENT-REQUIRED must stay small. */
const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { address: { type: 'string' }, signature: { type: 'string' } },
  required: ['address', 'signature'],
};

const proofSchema = z.object({
  domain: z.string(),
  uri: z.string(),
  chainId: z.string(),
  address: z.string().refine(isAddress),
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  issuedAt: z.iso.datetime(),
  expirationTime: z.iso.datetime(),
  signature: z.string().max(100),
});

/** The extension of a 402. Source: x402 specification, extension sign-in-with-x. */
export function signInChallenge(secret: string, place: SignInPlace, nowMs: number): object {
  const times = {
    issuedAt: new Date(nowMs).toISOString(),
    expirationTime: new Date(nowMs + VALID_MS).toISOString(),
  };
  const nonce = nonceOf(secret, place, times, randomBytes(SALT_BYTES).toString('hex'));
  return {
    info: {
      domain: domainOf(place),
      uri: uriOf(place),
      version: VERSION,
      statement: STATEMENT,
      nonce,
      ...times,
    },
    supportedChains: [{ chainId: place.network, type: 'ed25519', signatureScheme: 'siws' }],
    schema: SCHEMA,
  };
}

/**
 * The address of the wallet that signed a challenge of ours for this resource; otherwise why not. The message is built
 * from our own fields, so that a wallet that signed another text is refused. A challenge can be used until it expires.
 * `secrets`: a challenge is valid under any of them.
 */
export function readSignIn(
  secrets: readonly string[],
  place: SignInPlace,
  header: unknown,
  nowMs: number,
): { readonly wallet: string } | PassRefusal {
  const { data } = proofSchema.safeParse(typeof header === 'string' ? readHeaderJson(header) : null);
  if (data === undefined)
    return refusal('invalid_siwx_malformed', 'SIGN-IN-WITH-X is not base64 of a signed challenge');
  if (data.domain !== domainOf(place))
    return refusal('invalid_siwx_domain_mismatch', `the domain must be ${domainOf(place)}`);
  if (data.uri !== uriOf(place))
    return refusal('invalid_siwx_uri_mismatch', `the uri must be ${uriOf(place)}`);
  if (data.chainId !== place.network)
    return refusal('invalid_siwx_unsupported_chain', `chainId must be ${place.network}`);
  if (!isOurs(secrets, place, data))
    return refusal('invalid_siwx_nonce', 'the nonce is not from a 402 of this server for this resource');
  if (Date.parse(data.expirationTime) <= nowMs)
    return refusal('invalid_siwx_expired', 'the challenge has expired: sign a new one');
  if (!isSigned(messageOf(place, data, data.address), data.address, data.signature))
    return refusal('invalid_siwx_signature', 'the signature is not that of the wallet for the challenge');
  return { wallet: data.address };
}

function isOurs(secrets: readonly string[], place: SignInPlace, challenge: Challenge): boolean {
  const given = Buffer.from(challenge.nonce);
  const salt = challenge.nonce.slice(0, 2 * SALT_BYTES);
  return secrets.some((secret) =>
    timingSafeEqual(Buffer.from(nonceOf(secret, place, challenge, salt)), given),
  );
}

function nonceOf(
  secret: string,
  { route, path }: SignInPlace,
  { issuedAt, expirationTime }: Omit<Challenge, 'nonce'>,
  salt: string,
): string {
  const bound = JSON.stringify(['sluice/x402/sign-in/1', route, path, issuedAt, expirationTime, salt]);
  return (salt + createHmac('sha256', secret).update(bound).digest('hex')).slice(0, NONCE_DIGITS);
}

/** The text that the wallet signs. Source: Sign-In With Solana; x402 specification, extension sign-in-with-x. */
function messageOf(place: SignInPlace, challenge: Challenge, address: string): string {
  return [
    `${domainOf(place)} wants you to sign in with your Solana account:`,
    address,
    '',
    STATEMENT,
    '',
    `URI: ${uriOf(place)}`,
    `Version: ${VERSION}`,
    `Chain ID: ${place.network.replace(/^solana:/, '')}`,
    `Nonce: ${challenge.nonce}`,
    `Issued At: ${challenge.issuedAt}`,
    `Expiration Time: ${challenge.expirationTime}`,
  ].join('\n');
}

function isSigned(message: string, address: string, signature: string): boolean {
  try {
    const bytes = base58.decode(signature);
    // RFC 8032 refuses keys of small order, under which a signature proves nothing.
    const strict = { zip215: false };
    return (
      bytes.length === SIGNATURE_BYTES &&
      ed25519.verify(bytes, Buffer.from(message), base58.decode(address), strict)
    );
  } catch {
    return false;
  }
}

function domainOf({ publicUrl }: SignInPlace): string {
  return new URL(publicUrl).host;
}

/** URI of the resource, or of the server if that of the resource is too long. The nonce binds the path. */
function uriOf({ publicUrl, path }: SignInPlace): string {
  const uri = `${publicUrl}${path}`;
  return Buffer.byteLength(uri) <= MAX_URI_BYTES ? uri : `${new URL(publicUrl).origin}/`;
}

function refusal(error: string, details: string): PassRefusal {
  return { error, details };
}

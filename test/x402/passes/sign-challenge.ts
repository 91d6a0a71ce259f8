import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';
import { NETWORKS } from '../../../src/x402/terms.ts';

/** `info` of the extension sign-in-with-x, as far as a wallet signs it. */
export interface SignInInfo {
  readonly domain: string;
  readonly uri: string;
  readonly version: string;
  readonly statement: string;
  readonly nonce: string;
  readonly issuedAt: string;
  readonly expirationTime: string;
}

/** The challenge of a 402 in version 2. */
export function challengeIn(response: Response): SignInInfo {
  const header = Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString();
  return JSON.parse(header).extensions['sign-in-with-x'].info;
}

/**
 * The header SIGN-IN-WITH-X of a wallet (64 bytes) that signs the challenge; `change` replaces fields of the signed
 * header. Source: Sign-In With Solana.
 */
export function signChallenge(info: SignInInfo, secretKey: Uint8Array, change: object = {}): string {
  const chainId = NETWORKS.localnet.caip2;
  const address = base58.encode(secretKey.slice(32));
  const message = `${info.domain} wants you to sign in with your Solana account:
${address}

${info.statement}

URI: ${info.uri}
Version: ${info.version}
Chain ID: ${chainId.split(':')[1]}
Nonce: ${info.nonce}
Issued At: ${info.issuedAt}
Expiration Time: ${info.expirationTime}`;
  const signature = base58.encode(ed25519.sign(Buffer.from(message), secretKey.slice(0, 32)));
  const proof = { ...info, address, chainId, type: 'ed25519', signature, ...change };
  return Buffer.from(JSON.stringify(proof)).toString('base64');
}

import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';

/** A challenge of the extension sign-in-with-x, as far as a wallet signs it. */
export interface SignInChallenge {
  readonly domain: string;
  readonly uri: string;
  readonly version: string;
  readonly statement: string;
  readonly nonce: string;
  readonly issuedAt: string;
  readonly expirationTime: string;
  /** CAIP-2 id of the network. */
  readonly chainId: string;
}

/** The extension in a 402 answer. */
interface SignInExtension {
  readonly info: Omit<SignInChallenge, 'chainId'>;
  readonly supportedChains: readonly Pick<SignInChallenge, 'chainId'>[];
}

/** The challenge of a 402 in version 2. Throws if the answer has none. */
export function challengeIn({ headers }: Response): SignInChallenge {
  const header = Buffer.from(headers.get('payment-required') ?? '', 'base64').toString();
  const { extensions } = JSON.parse(header) as { readonly extensions?: Record<string, SignInExtension> };
  return challengeOf(extensions?.['sign-in-with-x']);
}

/** The challenge in an extension of a 402. */
export function challengeOf(extension: SignInExtension | undefined): SignInChallenge {
  const [chain] = extension?.supportedChains ?? [];
  if (extension === undefined || chain === undefined)
    throw new Error('the 402 answer has no challenge of the extension sign-in-with-x');
  return { ...extension.info, chainId: chain.chainId };
}

/**
 * The header SIGN-IN-WITH-X of a wallet (64 bytes) that signs the challenge; `change` replaces fields of the signed
 * header. Source: Sign-In With Solana.
 */
export function signChallenge(challenge: SignInChallenge, key: Uint8Array, change: object = {}): string {
  const address = base58.encode(key.slice(32));
  const message = `${challenge.domain} wants you to sign in with your Solana account:
${address}

${challenge.statement}

URI: ${challenge.uri}
Version: ${challenge.version}
Chain ID: ${challenge.chainId.split(':')[1]}
Nonce: ${challenge.nonce}
Issued At: ${challenge.issuedAt}
Expiration Time: ${challenge.expirationTime}`;
  const signature = base58.encode(ed25519.sign(Buffer.from(message), key.slice(0, 32)));
  const proof = { ...challenge, address, type: 'ed25519', signature, ...change };
  return Buffer.from(JSON.stringify(proof)).toString('base64');
}

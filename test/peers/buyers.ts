import { base58 } from '@scure/base';
import { createKeyPairSignerFromBytes, createSignableMessage } from '@solana/kit';
import type { SettleResponse } from '@x402/core/types';
import { createSIWxClientExtension } from '@x402/extensions/sign-in-with-x';
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { SOLANA_DEVNET_CAIP2 } from '@x402/svm';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { ExactSvmSchemeV1 } from '@x402/svm/exact/v1/client';
import { createSigner, wrapFetchWithPayment as wrapFetchWithLegacyPayment } from 'x402-fetch';

/** A wallet that pays, and the node of its client. */
export interface Buyer {
  readonly rpcUrl: string;
  /** 64 bytes. */
  readonly secretKey: Uint8Array;
  /** Sends the requests to the seller, and never those to the node. Default: the global one. */
  readonly fetch?: typeof fetch;
  /** A mint that the client of version 2 may pay with, beside USDC. */
  readonly asset?: string;
  /** Makes the payment identifier of each payment of the client of version 2. Default: no identifiers. */
  readonly newIdentifier?: () => string;
}

/** The last response of the seller, and the settlement that its header reports, if any. */
export interface BuyResult {
  readonly response: Response;
  readonly settlement: SettleResponse | null;
}

/** Requests a URL and pays when the seller asks for payment. It uses one client, which caches mints. */
export type Buy = (url: string, init?: RequestInit) => Promise<BuyResult>;

/** The official client of version 2: @x402/fetch with the scheme exact of @x402/svm. */
export async function version2Buyer({
  rpcUrl,
  secretKey,
  fetch = globalThis.fetch,
  asset,
  newIdentifier,
}: Buyer): Promise<Buy> {
  const signer = await createKeyPairSignerFromBytes(secretKey);
  const client = new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl }));
  if (asset !== undefined)
    client.setSpendControls({ allowedAssets: [{ network: SOLANA_DEVNET_CAIP2, asset }] });
  if (newIdentifier !== undefined)
    client.registerExtension({
      key: 'payment-identifier',
      enrichPaymentPayload: async (payload) => {
        const extensions = { 'payment-identifier': { info: { id: newIdentifier() } } };
        return { ...payload, extensions: { ...payload.extensions, ...extensions } };
      },
    });
  return purchases(wrapFetchWithPayment(fetch, client));
}

/** The official client of version 2 that signs in where it has paid, and pays elsewhere. */
export async function signInBuyer({ rpcUrl, secretKey, fetch = globalThis.fetch }: Buyer): Promise<Buy> {
  const signer = await createKeyPairSignerFromBytes(secretKey);
  const client = new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl }));
  const signMessage = async (message: Uint8Array) => {
    const [signatures] = await signer.signMessages([createSignableMessage(message)]);
    return signatures?.[signer.address] ?? new Uint8Array();
  };
  client.registerExtension(
    createSIWxClientExtension({ signers: [{ publicKey: signer.address, signMessage }] }),
  );
  return purchases(wrapFetchWithPayment(fetch, client));
}

/**
 * The official client of version 2 with the scheme of version 1 alone. The client prefers the terms of version 2 where a seller sends
 * both, so this buyer does not show them to it.
 */
export async function version1Buyer({ rpcUrl, secretKey, fetch = globalThis.fetch }: Buyer): Promise<Buy> {
  const signer = await createKeyPairSignerFromBytes(secretKey);
  const client = new x402Client().registerV1('solana-devnet', new ExactSvmSchemeV1(signer, { rpcUrl }));
  const fetchVersion1: typeof fetch = async (input, init) => withoutVersion2(await fetch(input, init));
  return purchases(wrapFetchWithPayment(fetchVersion1, client));
}

/** The last client of version 1 alone: x402-fetch 1.2.0. It pays at most 0.1 USDC. */
export async function legacyBuyer({ rpcUrl, secretKey, fetch = globalThis.fetch }: Buyer): Promise<Buy> {
  const signer = await createSigner('solana-devnet', base58.encode(secretKey));
  const config = { svmConfig: { rpcUrl } };
  return purchases(wrapFetchWithLegacyPayment(fetch, signer, undefined, undefined, config));
}

function purchases(pay: (url: string, init?: RequestInit) => Promise<Response>): Buy {
  return async (url, init) => {
    const response = await pay(url, init);
    const { headers } = response;
    const header = headers.get('payment-response') ?? headers.get('x-payment-response');
    return { response, settlement: header === null ? null : decodePaymentResponseHeader(header) };
  };
}

function withoutVersion2(response: Response): Response {
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.delete('payment-required');
  // fetch has decoded the body already.
  headers.delete('content-encoding');
  return new Response(response.body, { status, statusText, headers });
}

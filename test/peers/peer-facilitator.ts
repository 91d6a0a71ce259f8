import { createKeyPairSignerFromBytes } from '@solana/kit';
import { x402Facilitator } from '@x402/core/facilitator';
import type { Network, PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { SOLANA_DEVNET_CAIP2, toFacilitatorSvmSigner } from '@x402/svm';
import { ExactSvmScheme } from '@x402/svm/exact/facilitator';
import { ExactSvmSchemeV1 } from '@x402/svm/exact/v1/facilitator';
import { bodyOf, type HttpServer, startHttp } from '../support/http.ts';

export interface PeerFacilitatorOptions {
  readonly rpcUrl: string;
  /** Of the fee payer, 64 bytes. */
  readonly secretKey: Uint8Array;
}

/** The type has the identifiers of version 2 alone. */
const VERSION_1_NETWORK = 'solana-devnet' as Network;

interface PeerFacilitatorRequest {
  readonly paymentPayload: PaymentPayload;
  readonly paymentRequirements: PaymentRequirements;
}

/** Serves the official facilitator, versions 1 and 2, with POST /verify, POST /settle and GET /supported. */
export async function startPeerFacilitator({
  rpcUrl,
  secretKey,
}: PeerFacilitatorOptions): Promise<HttpServer> {
  const signer = toFacilitatorSvmSigner(await createKeyPairSignerFromBytes(secretKey), {
    defaultRpcUrl: rpcUrl,
  });
  const facilitator = new x402Facilitator()
    .register(SOLANA_DEVNET_CAIP2, new ExactSvmScheme(signer))
    .registerV1(VERSION_1_NETWORK, new ExactSvmSchemeV1(signer));
  return startHttp(async (request, response) => {
    const answer = await answerTo(facilitator, `${request.method} ${request.url}`, await bodyOf(request));
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  });
}

async function answerTo(facilitator: x402Facilitator, endpoint: string, body: Buffer): Promise<unknown> {
  const read = () => JSON.parse(body.toString()) as PeerFacilitatorRequest;
  switch (endpoint) {
    case 'GET /supported':
      return facilitator.getSupported();
    case 'POST /verify':
      return facilitator.verify(read().paymentPayload, read().paymentRequirements);
    case 'POST /settle':
      return facilitator.settle(read().paymentPayload, read().paymentRequirements);
    default:
      return undefined;
  }
}

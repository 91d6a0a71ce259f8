import { type HttpServer, startHttp } from '../support/http.ts';
import { PRICED } from './peer-server.ts';

export interface Version1SellerOptions {
  readonly facilitatorUrl: string;
  /** A mint. */
  readonly asset: string;
  readonly payTo: string;
  readonly feePayer: string;
}

/** Sells {@link PRICED} in version 1 alone, which the official server of version 2 does not speak. */
export function startVersion1Seller({
  facilitatorUrl,
  feePayer,
  ...terms
}: Version1SellerOptions): Promise<HttpServer> {
  return startHttp(async ({ headers, url }, response) => {
    const requirements = {
      ...terms,
      scheme: 'exact',
      network: 'solana-devnet',
      maxAmountRequired: String(PRICED.amount),
      resource: `http://${headers.host}${url}`,
      description: '',
      mimeType: 'application/json',
      maxTimeoutSeconds: 60,
      extra: { feePayer },
    };
    const payment = headers['x-payment'];
    const refuse = (error: string) =>
      response.writeHead(402).end(JSON.stringify({ x402Version: 1, error, accepts: [requirements] }));
    if (typeof payment !== 'string') return void refuse('X-PAYMENT header is required');
    const request = { x402Version: 1, paymentPayload: decode(payment), paymentRequirements: requirements };
    const verified = await post(`${facilitatorUrl}/verify`, request);
    if (verified['isValid'] !== true) return void refuse(String(verified['invalidReason']));
    const settled = await post(`${facilitatorUrl}/settle`, request);
    if (settled['success'] !== true) return void refuse(String(settled['errorReason']));
    response.setHeader('x-payment-response', Buffer.from(JSON.stringify(settled)).toString('base64'));
    response.end(JSON.stringify(PRICED.body));
  });
}

function decode(header: string): unknown {
  return JSON.parse(Buffer.from(header, 'base64').toString());
}

async function post(url: string, body: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}

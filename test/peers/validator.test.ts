import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { hasValidator } from '../support/has-validator.ts';
import { bodyOf, type HttpServer, startHttp } from '../support/http.ts';
import { type TestStack, testStack } from '../support/stack.ts';
import { type Buy, type Buyer, legacyBuyer, version2Buyer } from './buyers.ts';
import { PRICED, startPeerServer } from './peer-server.ts';

// A validator starts, and its mints become final, within a minute; a payment is final after 13 s.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 300_000 });
const PATIENT = { timeout: 120_000, interval: 200 };

if (hasValidator()) describe('on a real validator', purchases);
else it.skip('needs solana-test-validator on PATH', () => undefined);

function purchases(): void {
  let upstream: HttpServer;
  let running: TestStack;
  let ledger: Ledger;
  const asked: string[] = [];

  beforeAll(async () => {
    upstream = await startHttp(async (request, response) => {
      await bodyOf(request);
      asked.push(String(request.headers['idempotency-key']));
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`answer ${asked.length}`);
    });
    const routesOf = ({ seller, asset }: { seller: string; asset: string }) => ({
      payTo: seller,
      routes: [{ path: '/item', price: '0.001', asset, decimals: 6, upstream: upstream.url }],
    });
    const settings = { SLUICE_X402_FACILITATOR_OPEN: 'true' };
    running = await testStack(0, settings, 'shared', { routesOf }, 'validator');
    ledger = await openLedger(running.stack.databaseUrl);
    const isSold = async () => expect((await fetch(`${sales().gatewayUrl}/item`)).status).toBe(402);
    await vi.waitFor(isSold, PATIENT);
  });
  afterAll(async () => {
    await ledger?.close();
    await running?.close();
    await upstream?.close();
  });

  function sales() {
    const { sales: sold } = running.stack;
    if (sold === null) throw new Error('the stack sells');
    return sold;
  }

  const rpcUrl = () => running.stack.rpcUrls[0] ?? '';

  function buyer(): Buyer {
    const secretKey = Uint8Array.from(JSON.parse(readFileSync(sales().buyer.path, 'utf8')) as number[]);
    return { rpcUrl: rpcUrl(), secretKey, asset: sales().asset };
  }

  /** Signatures of the transactions that paid the seller, by the finalized blocks, newest first. */
  async function landed(): Promise<readonly string[]> {
    const account = deriveAta(sales().seller, sales().asset, TOKEN_PROGRAM);
    const options = { commitment: 'finalized' };
    const listed = await rpc<{ signature: string; err: unknown }[]>(rpcUrl(), 'getSignaturesForAddress', [
      account,
      options,
    ]);
    return listed.filter(({ err }) => err === null).map(({ signature }) => signature);
  }

  /** Buys once, and expects that the transaction named in the answer pays the price once, and that the payment is served. */
  async function buyOnce(buy: Buy, url: string, body: string, seller: string): Promise<void> {
    const before = await landed();
    const { response, settlement } = await buy(url);
    expect([response.status, await response.text()]).toEqual([200, body]);
    expect(settlement).toMatchObject({ success: true, payer: sales().buyer.address });
    const { transaction = '' } = settlement ?? {};
    const { id = '' } = (await ledger.payments.findByName(transaction)) ?? {};
    const isFinal = async () =>
      expect(await ledger.settlements.get(id)).toMatchObject({ status: 'finalized' });
    await vi.waitFor(isFinal, PATIENT);
    expect(await landed()).toEqual([transaction, ...before]);
    const sold = { seller, state: 'served', received: PRICED.amount };
    await vi.waitFor(async () => expect(await ledger.payments.get(id)).toMatchObject(sold), PATIENT);
  }

  it.each([
    ['the official client of version 2', version2Buyer],
    ['the last client of version 1 alone', legacyBuyer],
  ] as const)('%s buys from the gateway', async (_what, client) => {
    const before = asked.length;
    const buy = await client(buyer());
    await buyOnce(buy, `${sales().gatewayUrl}/item?n=${before}`, `answer ${before + 1}`, 'gateway');
    expect(asked).toHaveLength(before + 1);
  });

  it('the server of the official packages sells through the facilitator', async () => {
    const { gatewayUrl, seller, asset } = sales();
    const price = { asset, amount: String(PRICED.amount) };
    const server = await startPeerServer({
      facilitatorUrl: `${gatewayUrl}/facilitator`,
      payTo: seller,
      price,
    });
    try {
      const buy = await version2Buyer(buyer());
      await buyOnce(buy, server.url + PRICED.path, JSON.stringify(PRICED.body), 'facilitator');
    } finally {
      await server.close();
    }
  });
}

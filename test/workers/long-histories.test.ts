import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type LocalTemporal, startTemporal } from '../../devkit/localstack/temporal.ts';
import { withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { paymentId } from '../../src/domain/payment.ts';
import { NONCE_CREATE, settlementId } from '../../src/domain/settlement-kinds.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { runSettlement } from '../../src/platform/temporal/starts.ts';
import { nonceAddress, nonceSeed } from '../../src/solana/nonces/account.ts';
import { messageHashOf } from '../../src/solana/tx/message.ts';
import { readSigned } from '../../src/solana/tx/signed-transaction.ts';
import { purposeOf } from '../../src/workflows/details.ts';
import { SLUICE_ASSET, SLUICE_DESTINATION } from '../../src/workflows/search-attributes.ts';
import { NETWORKS } from '../../src/x402/terms.ts';
import { bodyOf, type HttpServer, startHttp } from '../support/http.ts';
import { flapUntilContinued, LONG_FROM_40 } from '../support/long-histories.ts';
import { SLOT_MS, type TestStack, testStack } from '../support/stack.ts';
import { temporalClient } from '../support/temporal.ts';
import { until } from '../support/until.ts';
import { ChainControls, currentDetailsOf, solTerms, waitForStatus } from '../withdrawals/outcomes-support.ts';
import { Customer, requirementsOf } from '../x402/gateway/customer.ts';

const logDir = mkdtempSync(join(tmpdir(), 'sluice-long-histories-'));
let server: LocalTemporal;
let upstream: HttpServer;
let running: TestStack;
let chain: ChainControls;
let ledger: Ledger;

beforeAll(async () => {
  server = await startTemporal({ logDir, ui: false, dynamicConfig: LONG_FROM_40 });
  upstream = await startHttp(async (request, response) => {
    await bodyOf(request);
    response.writeHead(200, { 'content-type': 'text/plain' }).end('item');
  });
  const routesOf = ({ seller }: { seller: string }) => ({
    payTo: seller,
    routes: [{ path: '/item', price: '0.001', upstream: upstream.url }],
  });
  const env = { TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: server.namespace };
  running = await testStack(SLOT_MS, env, 'shared', { routesOf });
  chain = new ChainControls(running.stack);
  ledger = await openLedger(running.stack.databaseUrl);
});
afterEach(() => chain.heal());
afterAll(async () => {
  await ledger?.close();
  await running?.close();
  await upstream?.close();
  await server?.stop();
  rmSync(logDir, { recursive: true, force: true });
});

function runOf(workflowId: string): WorkflowHandle {
  return temporalClient(server).workflow.getHandle(workflowId);
}

/** {@link flapUntilContinued}; the first run, whose result is that of the last run. */
async function flap(workflowId: string): Promise<WorkflowHandle> {
  const client = temporalClient(server);
  const runId = await flapUntilContinued(client, workflowId);
  const first = client.workflow.getHandle(workflowId, runId);
  expect((await first.describe()).status.name).toBe('CONTINUED_AS_NEW');
  return client.workflow.getHandle(workflowId, undefined, { firstExecutionRunId: runId });
}

describe('a run with a long history continues as new', () => {
  it('for a pending payment, which is paid once and is the same to operators', async () => {
    const terms = solTerms('flapping');
    const id = withdrawalWorkflowId(terms.id);
    await chain.swallowSends();
    await running.sluice.withdraw(terms);
    await waitForStatus(running.sluice, terms.id, 'sending');
    const before = await runOf(id).describe();
    const first = await flap(id);
    const after = await runOf(id).describe();
    await until(async () => (await currentDetailsOf(running.stack, terms.id)).includes(purposeOf(terms)));
    expect(after.raw.executionConfig?.defaultWorkflowTaskTimeout).toEqual(
      before.raw.executionConfig?.defaultWorkflowTaskTimeout,
    );
    for (const key of [SLUICE_ASSET, SLUICE_DESTINATION])
      expect(after.typedSearchAttributes.get(key)).toBe(before.typedSearchAttributes.get(key));
    await expect(running.sluice.cancel(terms.id)).rejects.toMatchObject({ code: 'NotCancellable' });
    await chain.heal();
    expect(await first.result()).toMatchObject({ status: 'finalized' });
    expect(await chain.paymentsTo(terms.destination)).toHaveLength(1);
  }, 120_000);

  it('for a withdrawal that waits for its customer, whose answer is accepted meanwhile', async () => {
    const terms = solTerms('asking', { acceptEmptyWallet: false });
    await running.sluice.withdraw(terms);
    await waitForStatus(running.sluice, terms.id, 'awaiting_confirmation');
    const workflowId = withdrawalWorkflowId(terms.id);
    await flap(workflowId);
    await waitForStatus(running.sluice, terms.id, 'awaiting_confirmation');
    await chain.swallowSends();
    const [first] = await Promise.all([flap(workflowId), running.sluice.confirm(terms.id)]);
    await chain.heal();
    expect(await first.result()).toMatchObject({ status: 'finalized' });
    expect(await chain.paymentsTo(terms.destination)).toHaveLength(1);
  }, 120_000);

  it('for another settlement, whose starter gets its result', async () => {
    const { hotWallet } = running.stack;
    const { address } = await ledger.nonces.register(hotWallet, (n) => nonceAddress(hotWallet, nonceSeed(n)));
    const id = settlementId(NONCE_CREATE, address);
    await chain.swallowSends();
    const end = runSettlement(temporalClient(server), { kind: NONCE_CREATE, subjectId: address });
    await until(async () => (await ledger.attempts.of(id).catch(() => [])).length > 0);
    await flap(id);
    await chain.heal();
    expect(await end).toMatchObject({ status: 'finalized' });
  }, 120_000);

  it('for the payment of a buyer: the gateway gets an answer, and the buyer is served when he asks again', async () => {
    const { sales } = running.stack;
    if (sales === null) throw new Error('the stack sells');
    const url = `${sales.gatewayUrl}/item`;
    await vi.waitFor(async () => expect((await fetch(url)).status).toBe(402), 60_000);
    const customer = new Customer(Uint8Array.from(JSON.parse(readFileSync(sales.buyer.path, 'utf8'))));
    const accepted = requirementsOf(await fetch(url));
    const transaction = customer.transaction(accepted);
    const message = readSigned(Buffer.from(transaction, 'base64'))?.message ?? new Uint8Array();
    const id = paymentId(NETWORKS.localnet.caip2, messageHashOf(message));
    const headers = customer.shows(accepted, transaction);
    await chain.swallowSends();
    const first = fetch(url, { headers });
    // The x402 worker sends before the workflow is started.
    await until(() =>
      runOf(id)
        .describe()
        .then(
          () => true,
          () => false,
        ),
    );
    await flap(id);
    expect((await first).status).not.toBe(200);
    await chain.heal();
    await vi.waitFor(async () => expect((await fetch(url, { headers })).status).toBe(200), 60_000);
    expect((await ledger.attempts.of(id)).map(({ n }) => n)).toEqual([1]);
    expect(await runOf(id).result()).toMatchObject({ status: 'finalized' });
  }, 120_000);
});

import { newAddress } from '../../devkit/localstack/keypair.ts';
// Records the histories that `test/workflows/replay.test.ts` replays: npx tsx test/histories/record.ts [of what, such as deposits]
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client, WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { WithdrawalTerms } from '../../src/client/client.ts';
import {
  depositScanWorkflowId,
  WORKFLOW_TASK_QUEUE,
  webhookWorkflowId,
  withdrawalWorkflowId,
} from '../../src/domain/ids.ts';
import { NONCE_CREATE, settlementId } from '../../src/domain/settlement-kinds.ts';
import { paymentId } from '../../src/domain/payment.ts';
import { backfillWorkflowId } from '../../src/domain/backfill.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { startTemporal } from '../../devkit/localstack/temporal.ts';
import { startBackfill, startSettlement } from '../../src/platform/temporal/starts.ts';
import { messageHashOf } from '../../src/solana/tx/message.ts';
import { readSigned } from '../../src/solana/tx/signed-transaction.ts';
import { NETWORKS } from '../../src/x402/terms.ts';
import { nonceAddress, nonceSeed } from '../../src/solana/nonces/account.ts';
import { startHttp } from '../support/http.ts';
import { flapUntilContinued, LONG_FROM_40 } from '../support/long-histories.ts';
import { SLOT_MS, testStack } from '../support/stack.ts';
import { temporalClient } from '../support/temporal.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { until } from '../support/until.ts';
import { ChainControls, listed, waitForStatus } from '../withdrawals/outcomes-support.ts';
import { Customer, requirementsOf } from '../x402/gateway/customer.ts';

const { stack, sluice, close } = await testStack(
  SLOT_MS,
  { SLUICE_WEBHOOK_ALLOW_PRIVATE: 'true', SLUICE_WEBHOOK_ATTEMPTS: '1' },
  'own',
);
const hand = new ChainControls(stack);
const temporal = temporalClient(stack.temporal);

function sol(id: string, changes: Partial<WithdrawalTerms> = {}): WithdrawalTerms {
  return { id, asset: 'SOL', amount: '1000000', destination: newAddress(), acceptEmptyWallet: true, ...changes };
}

/** The second run of a withdrawal whose first run continued as new, and which continues as new itself. */
async function continued(): Promise<void> {
  const logDir = mkdtempSync(join(tmpdir(), 'sluice-record-'));
  const server = await startTemporal({ logDir, ui: false, dynamicConfig: LONG_FROM_40 });
  const env = { TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: server.namespace };
  const other = await testStack(SLOT_MS, env, 'own');
  const client = temporalClient(server);
  const workflowId = withdrawalWorkflowId('continued');
  await new ChainControls(other.stack).swallowSends();
  await other.sluice.withdraw(sol('continued'));
  await waitForStatus(other.sluice, 'continued', 'sending');
  await flapUntilContinued(client, workflowId);
  await keep('continued', client.workflow.getHandle(workflowId, await flapUntilContinued(client, workflowId)));
  await other.close();
  await server.stop();
  rmSync(logDir, { recursive: true, force: true });
}

/** A payment that its workflow settles, on a stack of its own. */
async function sale(): Promise<void> {
  const upstream = await startHttp(async (_request, response) => void response.writeHead(200).end('item'));
  const routesOf = ({ seller }: { seller: string }) => ({
    payTo: seller,
    routes: [{ path: '/first', price: '0.001', upstream: upstream.url, flow: 'serve-first', timeoutSeconds: 5 }],
  });
  const other = await testStack(SLOT_MS, {}, 'own', { routesOf });
  const { gatewayUrl = '', buyer } = other.stack.sales ?? {};
  const customer = new Customer(Uint8Array.from(JSON.parse(readFileSync(buyer?.path ?? '', 'utf8'))));
  const url = `${gatewayUrl}/first`;
  await until(async () => (await fetch(url).catch(() => null))?.status === 402);
  const accepted = requirementsOf(await fetch(url));
  const transaction = customer.transaction(accepted, randomBytes(8).toString('hex'));
  await fetch(url, { headers: customer.shows(accepted, transaction) });
  const message = readSigned(Buffer.from(transaction, 'base64'))?.message ?? new Uint8Array();
  const id = paymentId(NETWORKS.localnet.caip2, messageHashOf(message));
  const run = temporalClient(other.stack.temporal).workflow.getHandle(id);
  await run.result();
  await keep('x402-settlement', run);
  await other.close();
  await upstream.close();
}

async function ends(id: string): Promise<void> {
  await sluice.waitForFinal(id);
  await save(id, withdrawalWorkflowId(id));
}

/** Waits for the end of the run, unless it has none, and keeps its history under that name. */
async function save(name: string, workflowId: string, { endless = false } = {}): Promise<void> {
  const handle = temporal.workflow.getHandle(workflowId);
  if (!endless) await handle.result();
  await keep(name, handle);
}

async function keep(name: string, handle: WorkflowHandle): Promise<void> {
  const history = await handle.fetchHistory();
  forgetStacks(history);
  const bytes = proto.temporal.api.history.v1.History.encode(history).finish();
  writeFileSync(new URL(`${name}.bin`, import.meta.url), bytes);
}

/** Stack traces name paths of the machine that recorded; no replay reads them. */
function forgetStacks(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  if ('stackTrace' in value) value.stackTrace = '';
  for (const member of Object.values(value)) forgetStacks(member);
}

async function customers(): Promise<void> {
  await sluice.withdraw(sol('confirmed-by-customer', { acceptEmptyWallet: false }));
  await sluice.withdraw(sol('cancelled', { acceptEmptyWallet: false }));
  await sluice.withdraw(sol('rejected', { destination: stack.hotWallet }));
  await waitForStatus(sluice, 'confirmed-by-customer', 'awaiting_confirmation');
  await sluice.confirm('confirmed-by-customer');
  await waitForStatus(sluice, 'cancelled', 'awaiting_confirmation');
  await sluice.cancel('cancelled');
  for (const id of ['confirmed-by-customer', 'cancelled', 'rejected']) await ends(id);
}

async function payments(): Promise<void> {
  await sluice.withdraw(sol('finalized'));
  await sluice.withdraw(sol('token', { asset: hand.mint('mint'), memo: 'invoice 17' }));
  for (const id of ['finalized', 'token']) await ends(id);
}

async function deaths(): Promise<void> {
  await hand.swallowSends();
  await sluice.withdraw(sol('second-attempt'));
  await until(async () => (await sluice.get('second-attempt')).attempts.length === 2);
  await hand.heal();
  await ends('second-attempt');

  await hand.swallowSends();
  await sluice.withdraw(sol('held'));
  await waitForStatus(sluice, 'held', 'sending');
  await hand.disturb('getBlocksWithLimit', { kind: 'http', status: 503 });
  await until(async () => (await listed(stack, 'sluiceStatus = "held"')).length > 0);
  await hand.heal();
  await ends('held');
}

async function funding(): Promise<void> {
  await sluice.withdraw(sol('waited-for-funds', { amount: '5000000000000' }));
  await waitForStatus(sluice, 'waited-for-funds', 'awaiting_funds');
  await hand.airdrop(stack.hotWallet, 6_000_000_000_000);
  await ends('waited-for-funds');
}

/**
 * The issuer freezes the hot wallet's account while the bytes wait, and thaws it once they have failed on chain. `failed.bin` is from
 * a release where that was the end.
 */
async function failure(): Promise<void> {
  const asset = hand.mint('mint');
  const freeze = (frozen: boolean) => rpc(hand.url, 'localnet_setFrozen', [asset, stack.hotWallet, frozen]);
  await hand.swallowSends();
  await sluice.withdraw(sol('failed-attempt', { asset }));
  await waitForStatus(sluice, 'failed-attempt', 'sending');
  await freeze(true);
  await hand.heal();
  await until(async () => (await sluice.get('failed-attempt')).attempts[0]?.state === 'failed');
  await freeze(false);
  await ends('failed-attempt');
}

/** A webhook whose receiver refuses the first event, so that it is a dead letter, and takes the second one. */
async function webhook(): Promise<void> {
  const receiver = await startReceiver((response, _received, n) => response.writeHead(n === 1 ? 500 : 204).end());
  const { id: endpoint } = await sluice.webhooks.put(`http://127.0.0.1:${receiver.port}/`, ['withdrawal.*']);
  await sluice.withdraw(sol('notified', { acceptEmptyWallet: false }));
  await waitForStatus(sluice, 'notified', 'awaiting_confirmation');
  await sluice.cancel('notified');
  await until(async () => receiver.received.length === 2);
  await save('webhook', webhookWorkflowId({ endpoint, entity: 'withdrawal/notified' }));
  await sluice.webhooks.remove(endpoint);
  await receiver.close();
}

/** The scan through a pause that is long enough for a catch-up, and what looks after it. */
async function deposits(): Promise<void> {
  await until(async () => (await sluice.scan.status()).state === 'tail');
  await sluice.scan.pause('to fall behind');
  const { cursor } = await sluice.scan.status();
  const behind = BigInt(cursor?.slot ?? '0') + 700n;
  await until(async () => BigInt(await rpc<number>(hand.url, 'getSlot', [{ commitment: 'finalized' }])) > behind, 300_000);
  await sluice.scan.resume('far enough');
  await until(async () => BigInt((await sluice.scan.status()).cursor?.slot ?? '0') > behind);
  await until(async () => (await sluice.scan.status()).state === 'tail');
  await save('deposit-scan', depositScanWorkflowId('localnet'), { endless: true });

  const range = { from: `${behind - 100n}`, to: `${behind}` };
  const blocks = { ...range, actor: 'recorder', reason: 'to see' };
  await startBackfill(temporal, blocks);
  await save('backfill-blocks', backfillWorkflowId(blocks));
  const order = { ...blocks, address: newAddress(), repair: false };
  await startBackfill(temporal, order);
  const options = { workflowId: 'reconciliation-recorded', taskQueue: WORKFLOW_TASK_QUEUE };
  await temporal.workflow.start('reconciliation', options);
  await save('backfill-address', backfillWorkflowId(order));
  await save('reconciliation', 'reconciliation-recorded');
}

/** A settlement of another kind than a withdrawal: a nonce account is made. */
async function nonces(): Promise<void> {
  const ledger = await openLedger(stack.databaseUrl);
  const wallet = stack.hotWallet;
  const { address } = await ledger.nonces.register(wallet, (n) => nonceAddress(wallet, nonceSeed(n)));
  await ledger.close();
  await startSettlement(temporal, { kind: NONCE_CREATE, subjectId: address }, 'finalized');
  await save('settlement', settlementId(NONCE_CREATE, address));
}

const RECORDS = { payments, customers, deaths, funding, failure, webhook, deposits, nonces, continued, sale };
const wanted = process.argv.slice(2);

try {
  for (const [name, record] of Object.entries(RECORDS))
    if (wanted.length === 0 || wanted.includes(name)) await record();
} finally {
  await close();
}

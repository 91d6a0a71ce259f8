import { base58, base64 } from '@scure/base';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { Stack } from '../../devkit/localstack/stack.ts';
import type { SluiceClient, WithdrawalTerms } from '../../src/client/client.ts';
import { assembleTransaction } from '../../src/solana/tx/transfer.ts';
import { jsonOf, runSluice } from '../support/cli.ts';
import { startSlowSigner } from '../support/crash.ts';
import { SLOT_MS, type TestStack, testStack } from '../support/stack.ts';
import { temporalClient } from '../support/temporal.ts';
import { until } from '../support/until.ts';
import { ChainControls, query, waitForStatus } from './outcomes-support.ts';

let running: TestStack;
let stack: Stack;
let sluice: SluiceClient;
let hand: ChainControls;

/** Longer than most signers need, and longer than the former timeout of Sluice. */
const SLOWER_THAN_MOST_MS = 40_000;

vi.setConfig({ testTimeout: 240_000 });

beforeAll(async () => {
  running = await testStack(SLOT_MS, { SLUICE_LIFETIME: 'nonce' });
  ({ stack, sluice } = running);
  hand = new ChainControls(stack);
});
afterEach(() => hand?.heal());
afterAll(async () => running?.close());

/** An operator's command, and its output. */
async function nonces(...args: readonly string[]): Promise<{ json: unknown; code: number | null }> {
  const env = {
    DATABASE_URL: stack.databaseUrl,
    TEMPORAL_ADDRESS: stack.temporal.address,
    TEMPORAL_NAMESPACE: stack.temporal.namespace,
    SLUICE_HOT_WALLET: stack.hotWallet,
  };
  const ended = await runSluice(['nonces', ...args, '-o', 'json'], { env });
  return { json: jsonOf(ended), code: ended.code };
}

function sol(id: string): WithdrawalTerms {
  return { id, asset: 'SOL', amount: '2000000', destination: newAddress(), acceptEmptyWallet: true };
}

describe('a withdrawal under SLUICE_LIFETIME=nonce', () => {
  const first = sol('first');

  it('waits visibly without a nonce account, and is paid when an operator has created one', async () => {
    await sluice.withdraw(first);
    expect(await waitForStatus(sluice, first.id, 'held')).toMatchObject({
      reason: { code: 'no_free_nonce' },
    });
    expect((await nonces('create', '--count', '0')).code).toBe(2);
    const made = await nonces('create', '--count', '1');
    expect(made).toMatchObject({ json: { created: [expect.any(String)] }, code: 0 });
    const { created } = made.json as { readonly created: readonly [string] };
    await explainsAccount(created[0]);
    const paid = await sluice.waitForFinal(first.id);
    expect(paid).toMatchObject({
      status: 'finalized',
      attempts: [{ state: 'landed', lastValidBlockHeight: null, nonceAccount: expect.any(String) }],
    });
    expect(await hand.paymentsTo(first.destination)).toMatchObject([{ received: 2_000_000n }]);
  });

  it('expires by an advance of its nonce while no send arrives, and a second attempt pays it exactly once', async () => {
    const terms = sol('killed');
    await hand.swallowSends();
    await sluice.withdraw(terms);
    await waitForStatus(sluice, terms.id, 'sending');
    expect((await nonces('advance', terms.id)).code).toBe(2);
    const advance = nonces('advance', terms.id, '--yes');
    let bytes: string | undefined;
    await until(async () => {
      const [advanced] = await query<{ message: string; signature: string }>(stack, SIGNED_ADVANCE);
      if (advanced === undefined) return false;
      const { message, signature } = advanced;
      bytes = assembleTransaction(base64.decode(message), base58.decode(signature)).raw;
      return true;
    });
    await healAndSendFirst(bytes ?? '');
    expect(await advance).toMatchObject({ json: { signature: expect.any(String) }, code: 0 });
    const { status, attempts } = await sluice.waitForFinal(terms.id);
    expect(status).toBe('finalized');
    expect(attempts.map(({ state }) => state)).toEqual(['dead', 'landed']);
    expect(await hand.paymentsTo(terms.destination)).toHaveLength(1);
  });

  it('gets a nonce account although the run that created it was terminated', async () => {
    await hand.swallowSends();
    const creating = nonces('create', '--count', '1');
    let address: string | undefined;
    await until(async () => {
      [{ address } = { address: undefined }] = await query<{ address: string }>(stack, SIGNED_CREATION);
      return address !== undefined;
    });
    const workflowId = `nonce-create/${address}`;
    await temporalClient(stack.temporal).workflow.getHandle(workflowId).terminate('by a test');
    expect((await creating).code).not.toBe(0);
    await hand.heal();
    await temporalClient(stack.temporal).schedule.getHandle('restartUnfinished').trigger();
    const free = `select address from nonce_account where state = 'free' and address = '${address}'`;
    await until(async () => (await query(stack, free)).length === 1);
  });

  it('is paid once by a signer that is slower than most', async () => {
    await stack.signer.stop();
    const slow = await startSlowSigner(stack, SLOWER_THAN_MOST_MS);
    const terms = sol('patient');
    try {
      await sluice.withdraw(terms);
      const { status, attempts } = await sluice.waitForFinal(terms.id);
      expect(status).toBe('finalized');
      expect(attempts.map(({ state }) => state)).toEqual(['landed']);
    } finally {
      await slow.stop();
      await stack.signer.start();
    }
    expect(await hand.paymentsTo(terms.destination)).toHaveLength(1);
  });

  it('leaves no open alert', async () => {
    expect((await nonces('list')).json).toMatchObject({
      nonceAccounts: [{ authority: stack.hotWallet }, { authority: stack.hotWallet }],
    });
    const response = await fetch(`${stack.apiUrl}/v1/alerts`, {
      headers: { authorization: `Bearer ${stack.apiKey}` },
    });
    expect(await response.json()).toMatchObject({ alerts: [] });
  });
});

/** The API explains how the account was created by its stored proof; the search attributes of Temporal find it. */
async function explainsAccount(address: string): Promise<void> {
  const id = `nonce-create/${address}`;
  const explained = await sluice.settlements.explain(id);
  expect(explained).toMatchObject({
    id,
    status: 'finalized',
    waitsFor: 'nothing: its transaction is finalized',
    attempt: { n: 1, state: 'landed', verdict: 'landed', signature: explained.signature },
    attempts: [{ n: 1, state: 'landed' }],
    alerts: [],
  });
  const [confirmedBy] = explained.attempt?.evidence?.outcomeConfirmedBy ?? [];
  expect(confirmedBy).toBeTypeOf('string');
  const { settlements } = await sluice.settlements.page({ kind: 'nonce-create', status: 'finalized' });
  expect(settlements.map(({ subject }) => subject)).toEqual([address]);
  const { workflow } = temporalClient(stack.temporal);
  const found = `sluiceStatus = "finalized" and sluiceSignature = "${explained.signature}"`;
  const others = `WorkflowType in ("settlement", "x402Settlement") and ${found}`;
  await until(async () => (await workflow.count(others)).count === 1);
}

const SIGNED_ADVANCE = `select message, signature from attempt join settlement on id = settlement_id
  where settlement.kind = 'nonce-advance' and state = 'signed'`;
const SIGNED_CREATION = `select subject_id as address from attempt join settlement on id = settlement_id
  where settlement.kind = 'nonce-create' and state = 'signed'`;

/** Ends the faults and sends these bytes in one request to one node, so that no pending resend arrives first. */
async function healAndSendFirst(raw: string): Promise<void> {
  const calls = [
    { method: 'localnet_clearFaults', params: [] },
    { method: 'sendTransaction', params: [raw, { encoding: 'base64', skipPreflight: true }] },
  ];
  const response = await fetch(hand.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))),
  });
  expect(await response.text()).not.toContain('"error"');
}

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SluiceClient, WithdrawalTerms } from '../../src/client/client.ts';
import { withdrawalWorkflowId } from '../../src/domain/ids.ts';
import type { Stack } from '../../src/localstack/stack.ts';
import { newWallet, type TestStack, testStack } from '../support/stack.ts';
import { asOperator, ChainHand, cardOf, listed, query, reaches, until } from './outcomes-support.ts';

const HELD = 'sluiceStatus = "held"';
let running: TestStack;
let stack: Stack;
let sluice: SluiceClient;
let hand: ChainHand;

beforeAll(async () => {
  running = await testStack();
  ({ stack, sluice } = running);
  hand = new ChainHand(stack);
});
afterEach(() => hand.heal());
afterAll(async () => running?.close());

function sol(id: string): WithdrawalTerms {
  return { id, asset: 'SOL', amount: '2000000', destination: newWallet(), acceptEmptyWallet: true };
}

async function shown(id: string, isShown: boolean): Promise<void> {
  await until(async () => (await listed(stack, HELD)).includes(withdrawalWorkflowId(id)) === isShown);
}

describe('a withdrawal of which nothing can be told', () => {
  it('is listed as held while a node does not tell its height, no longer when it does, and goes on by itself', async () => {
    const terms = sol('expired');
    await hand.swallowSends();
    await sluice.withdraw(terms);
    await reaches(sluice, terms.id, 'sending');
    await hand.disturb('getBlockHeight', { kind: 'http', status: 503 }, [1]);
    const { reason } = await reaches(sluice, terms.id, 'held');
    expect(reason).toMatchObject({ code: 'evidence_missing', message: expect.stringContaining('height') });
    await shown(terms.id, true);
    expect(await cardOf(stack, terms.id)).toContain('**held**');
    expect(await cardOf(stack, terms.id)).toContain(reason?.message);
    const { attempt, nextStep } = await sluice.explain(terms.id);
    const silent = new URL(stack.rpcUrls[1] ?? '').host;
    expect(attempt?.missing).toContainEqual({ node: silent, what: 'its finalized block height' });
    expect(nextStep).toContain('mend the nodes');

    await hand.heal();
    await hand.swallowSends();
    await hand.disturb('getBlockHeight', { kind: 'result', result: 1 }, [1]);
    await reaches(sluice, terms.id, 'sending');
    await shown(terms.id, false);
    expect(await cardOf(stack, terms.id)).toContain('**sending**');

    await hand.heal();
    const paid = await sluice.waitForFinal(terms.id);
    expect(paid.attempts.map(({ state }) => state)).toEqual(['dead', 'landed']);
    const proof = paid.attempts[0]?.proof;
    expect(proof?.statuses.map(({ seen }) => seen)).toEqual(['absent', 'absent']);
    expect(Date.parse(proof?.judgedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(proof?.askedAt ?? ''));
    expect(await hand.paymentsTo(terms.destination)).toHaveLength(1);
  }, 180_000);

  it('is held with the nodes named while no second one shows what the first reports as finalized', async () => {
    const terms = sol('unseconded');
    await hand.disturb('getTransaction', { kind: 'null' });
    await sluice.withdraw(terms);
    const { reason } = await reaches(sluice, terms.id, 'held');
    for (const url of stack.rpcUrls) expect(reason?.message).toContain(new URL(url).host);
    await until(async () => (await openAlerts(terms.id)).length > 0);
    expect((await openAlerts(terms.id)).map(({ kind }) => kind)).toEqual(['evidence_missing']);
    await shown(terms.id, true);
    await hand.heal();
    expect(await sluice.waitForFinal(terms.id)).toMatchObject({ status: 'finalized', reason: null });
    await until(async () => (await openAlerts(terms.id)).length === 0);
    await shown(terms.id, false);
  }, 120_000);
});

describe('a message that the signer refuses', () => {
  it('is listed as held with its reason, and paid once the record is what it was', async () => {
    const terms = sol('tampered');
    await preparedOnly(terms);
    const write = 'update attempt set message = $2 where withdrawal_id = $1';
    const [row] = await query<{ message: string }>(
      stack,
      'select message from attempt where withdrawal_id = $1',
      [terms.id],
    );
    const message = row?.message ?? '';
    await query(stack, write, [terms.id, otherBytes(message)]);
    await stack.signer.start();
    await sluice.withdraw(terms);
    expect(await reaches(sluice, terms.id, 'held')).toMatchObject({ reason: { code: 'signing_refused' } });
    await shown(terms.id, true);

    await query(stack, write, [terms.id, message]);
    await sluice.withdraw(terms);
    expect(await sluice.waitForFinal(terms.id)).toMatchObject({ status: 'finalized', reason: null });
    expect(await hand.paymentsTo(terms.destination)).toHaveLength(1);
  }, 120_000);

  it('for good dies without a signature, and the next attempt pays', async () => {
    const terms = sol('refused');
    await preparedOnly(terms);
    await query(stack, 'update attempt set fee_lamports = 1 where withdrawal_id = $1', [terms.id]);
    await stack.signer.start();
    await sluice.withdraw(terms);
    await reaches(sluice, terms.id, 'held');
    await until(async () => {
      await asOperator(stack, (client) => client.schedule.getHandle('orphans').trigger());
      await sleep(2_000);
      return (await sluice.get(terms.id)).status === 'finalized';
    });
    const { attempts } = await sluice.get(terms.id);
    expect(attempts.map(({ state }) => state)).toEqual(['dead', 'landed']);
    expect(attempts[0]).toMatchObject({
      signature: null,
      proof: { linkedBlocks: { holdsSignature: false } },
    });
    expect(await hand.paymentsTo(terms.destination)).toHaveLength(1);
  }, 180_000);
});

/** A withdrawal whose attempt is on record, and that neither signer nor run has any more. */
async function preparedOnly(terms: WithdrawalTerms): Promise<void> {
  await stack.signer.kill('SIGKILL');
  await sluice.withdraw(terms);
  await reaches(sluice, terms.id, 'preparing');
  await asOperator(stack, (client) =>
    client.workflow.getHandle(withdrawalWorkflowId(terms.id)).terminate('its database is tampered with'),
  );
}

function openAlerts(subject: string): Promise<{ kind: string; message: string }[]> {
  return query(stack, 'select kind, message from alert where closed_at is null and subject = $1', [subject]);
}

/** The message with the last byte of its last instruction, the highest of the amount, set. */
function otherBytes(message: string): string {
  const bytes = Buffer.from(message, 'base64');
  bytes.writeUInt8(1, bytes.length - 2);
  return bytes.toString('base64');
}

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { WithdrawalTerms } from '../../src/client/client.ts';
import { withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { until } from '../support/until.ts';
import {
  currentDetailsOf,
  expectDeadThenLanded,
  listed,
  query,
  solTerms,
  waitForStatus,
} from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const HELD = 'sluiceStatus = "held"';
const use = useStack();
afterEach(() => use.chain.heal());

async function waitUntilListed(id: string, isShown: boolean): Promise<void> {
  await until(async () => (await listed(use.stack, HELD)).includes(withdrawalWorkflowId(id)) === isShown);
}

describe('a withdrawal whose state no quorum of nodes can prove', () => {
  it('is listed as held while a node does not return its height, and continues by itself when the node does', async () => {
    const terms = solTerms('expired');
    await use.chain.swallowSends();
    await use.sluice.withdraw(terms);
    await waitForStatus(use.sluice, terms.id, 'sending');
    await use.chain.disturb('getBlockHeight', { kind: 'http', status: 503 }, [1]);
    await use.chain.expireBlockhashes();
    const { reason } = await waitForStatus(use.sluice, terms.id, 'held');
    expect(reason).toMatchObject({ code: 'evidence_missing', message: expect.stringContaining('height') });
    await waitUntilListed(terms.id, true);
    expect(await currentDetailsOf(use.stack, terms.id)).toContain('**held**');
    expect(await currentDetailsOf(use.stack, terms.id)).toContain(reason?.message);
    const { attempt, nextStep } = await use.sluice.explain(terms.id);
    const silent = new URL(use.stack.rpcUrls[1] ?? '').host;
    expect(attempt?.missing).toContainEqual({ node: silent, what: 'the finalized block height of the node' });
    expect(nextStep).toContain('repair the nodes');

    await use.chain.heal();
    await use.chain.swallowSends();
    await use.chain.disturb('getBlockHeight', { kind: 'result', result: 1 }, [1]);
    await waitForStatus(use.sluice, terms.id, 'sending');
    await waitUntilListed(terms.id, false);
    expect(await currentDetailsOf(use.stack, terms.id)).toContain('**sending**');

    await use.chain.heal();
    const paid = await use.sluice.waitForFinal(terms.id);
    expectDeadThenLanded(paid);
    const proof = paid.attempts[0]?.proof;
    expect(proof?.statuses.map(({ seen }) => seen)).toEqual(['absent', 'absent']);
    expect(Date.parse(proof?.judgedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(proof?.askedAt ?? ''));
    expect(await use.chain.paymentsTo(terms.destination)).toHaveLength(1);
  }, 180_000);

  it('is held with the nodes named while no second node returns what the first reports as finalized', async () => {
    const terms = solTerms('unseconded');
    await use.chain.disturb('getTransaction', { kind: 'null' });
    await use.sluice.withdraw(terms);
    const { reason } = await waitForStatus(use.sluice, terms.id, 'held');
    for (const url of use.stack.rpcUrls) expect(reason?.message).toContain(new URL(url).host);
    expect(await use.sluice.get(terms.id)).toMatchObject({ attempts: [{ state: 'signed' }] });
    await until(async () => (await openAlerts(terms.id)).length > 0);
    expect((await openAlerts(terms.id)).map(({ kind }) => kind)).toEqual(['evidence_missing']);
    await waitUntilListed(terms.id, true);
    await use.chain.heal();
    expect(await use.sluice.waitForFinal(terms.id)).toMatchObject({ status: 'finalized', reason: null });
    await until(async () => (await openAlerts(terms.id)).length === 0);
    await waitUntilListed(terms.id, false);
  }, 120_000);
});

describe('a message that the signer refuses', () => {
  // A scheduled round could start a run with the true message before the row is changed.
  beforeAll(() => use.temporal.schedule.getHandle('restartUnfinished').pause());

  it('is listed as held with its reason, and is paid once the row is restored', async () => {
    const terms = solTerms('tampered');
    await preparedOnly(terms);
    const write = 'update attempt set message = $2 where settlement_id = $1';
    const [row] = await query<{ message: string }>(
      use.stack,
      'select message from attempt where settlement_id = $1',
      [terms.id],
    );
    const message = row?.message ?? '';
    await query(use.stack, write, [terms.id, otherBytes(message)]);
    await use.stack.signer.start();
    await use.sluice.withdraw(terms);
    expect(await waitForStatus(use.sluice, terms.id, 'held')).toMatchObject({
      reason: { code: 'signing_refused' },
    });
    await waitUntilListed(terms.id, true);

    await query(use.stack, write, [terms.id, message]);
    await use.sluice.withdraw(terms);
    expect(await use.sluice.waitForFinal(terms.id)).toMatchObject({ status: 'finalized', reason: null });
    expect(await use.chain.paymentsTo(terms.destination)).toHaveLength(1);
  }, 120_000);

  it('permanently expires without a signature, and the next attempt pays', async () => {
    const terms = solTerms('refused');
    await preparedOnly(terms);
    await query(use.stack, 'update attempt set fee_lamports = 1 where settlement_id = $1', [terms.id]);
    await use.stack.signer.start();
    await use.sluice.withdraw(terms);
    await waitForStatus(use.sluice, terms.id, 'held');
    await use.chain.expireBlockhashes();
    await until(async () => {
      await use.temporal.schedule.getHandle('restartUnfinished').trigger();
      await sleep(2_000);
      return (await use.sluice.get(terms.id)).status === 'finalized';
    });
    const paid = await use.sluice.get(terms.id);
    expectDeadThenLanded(paid);
    expect(paid.attempts[0]).toMatchObject({
      signature: null,
      proof: { linkedBlocks: { containsSignature: false } },
    });
    expect(await use.chain.paymentsTo(terms.destination)).toHaveLength(1);
  }, 180_000);
});

/** A withdrawal with a stored attempt, and without signer and run. */
async function preparedOnly(terms: WithdrawalTerms): Promise<void> {
  await use.stack.signer.kill('SIGKILL');
  await use.sluice.withdraw(terms);
  await waitForStatus(use.sluice, terms.id, 'preparing');
  await use.temporal.workflow
    .getHandle(withdrawalWorkflowId(terms.id))
    .terminate('its database is tampered with');
}

function openAlerts(subject: string): Promise<{ kind: string; message: string }[]> {
  return query(use.stack, 'select kind, message from alert where closed_at is null and subject = $1', [
    subject,
  ]);
}

/** The message with the last byte of its last instruction, the highest of the amount, set. */
function otherBytes(message: string): string {
  const bytes = Buffer.from(message, 'base64');
  bytes.writeUInt8(1, bytes.length - 2);
  return bytes.toString('base64');
}

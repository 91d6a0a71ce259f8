import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { Withdrawal, WithdrawalTerms } from '../../src/client/client.ts';
import { WORKFLOW_TASK_QUEUE, withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { jsonOf, runSluice } from '../support/cli.ts';
import { testEnvironment } from '../support/stack.ts';
import { settledBooks } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack();

/** Each requests the withdrawal in its own way and returns when it has ended. */
const WAYS: Readonly<Record<string, (terms: WithdrawalTerms) => Promise<unknown>>> = {
  HTTP: async (terms) => {
    const { apiUrl, apiKey } = use.stack;
    const answer = await fetch(`${apiUrl}/v1/withdrawals`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify(terms),
    });
    expect([200, 202]).toContain(answer.status);
    return use.sluice.waitForFinal(terms.id, { pollMs: 100 });
  },
  'the command': async ({ id, asset, amount, destination, memo = '' }) => {
    const options = { id, asset, units: amount, to: destination, memo };
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    const { apiUrl, apiKey } = use.stack;
    const args = [...flags, '--accept-empty-wallet', '--wait', '-o', 'json'];
    const ended = await runSluice(['withdrawals', 'create', ...args], {
      env: { ...testEnvironment(), SLUICE_API_URL: apiUrl, SLUICE_API_KEY: apiKey },
    });
    expect(jsonOf(ended)).toEqual(await use.sluice.get(id));
  },
  'the typed client': async (terms) => {
    await use.sluice.withdraw(terms);
    return use.sluice.waitForFinal(terms.id, { pollMs: 100 });
  },
  'any Temporal client': (terms) =>
    use.temporal.workflow.execute('withdrawal', {
      workflowId: withdrawalWorkflowId(terms.id),
      workflowIdConflictPolicy: 'USE_EXISTING',
      taskQueue: WORKFLOW_TASK_QUEUE,
      args: [terms],
    }),
};

/** The fields that two withdrawals share. */
function common({ attempts, ...withdrawal }: Withdrawal): unknown {
  const { id: _id, destination: _to, workflowId: _run, links: _links, ...rest } = withdrawal;
  const { createdAt: _created, updatedAt: _updated, ...same } = rest;
  return { ...same, attempts: attempts.map(({ n, state, error }) => ({ n, state, error })) };
}

/** The search attributes of a workflow list in Temporal's Web UI. */
async function searchAttributes(id: string): Promise<Readonly<Record<string, unknown>>> {
  const handle = use.temporal.workflow.getHandle(withdrawalWorkflowId(id));
  // The database has the end first: the run shows it a workflow task later.
  await handle.result();
  const { typedSearchAttributes } = await handle.describe();
  const ours = typedSearchAttributes.getAll().filter(({ key }) => key.name.startsWith('sluice'));
  return Object.fromEntries(ours.map(({ key, value }) => [key.name, value]));
}

describe('a withdrawal', () => {
  it.each(Object.keys(WAYS))('requested through %s is paid once and is the same everywhere', async (way) => {
    const id = `by-${way.replaceAll(' ', '-')}`;
    const destination = newAddress();
    const terms = {
      id,
      asset: 'SOL',
      amount: '2000000',
      destination,
      acceptEmptyWallet: true,
      memo: 'four ways',
    };
    await WAYS[way]?.(terms);

    const shown = await use.sluice.get(id);
    expect(common(shown)).toEqual({
      status: 'finalized',
      reason: null,
      asset: 'SOL',
      amount: '2000000',
      amountReceived: '2000000',
      acceptEmptyWallet: true,
      memo: 'four ways',
      confirmedByCustomer: false,
      attempts: [{ n: 1, state: 'landed', error: null }],
    });
    const [attempt] = shown.attempts;
    expect(await use.chain.paymentsTo(destination)).toMatchObject([
      { signature: attempt?.signature, received: 2_000_000n },
    ]);
    expect(await searchAttributes(id)).toEqual({
      sluiceStatus: 'finalized',
      sluiceAsset: 'SOL',
      sluiceDestination: destination,
      sluiceSignature: attempt?.signature,
    });
  });

  it('requested through all four interfaces at once is one withdrawal', async () => {
    const destination = newAddress();
    const terms = {
      id: 'all-ways',
      asset: 'SOL',
      amount: '3000000',
      destination,
      acceptEmptyWallet: true,
      memo: 'at once',
    };
    await Promise.all(Object.values(WAYS).map((ask) => ask(terms)));
    const paid = await use.sluice.get(terms.id);
    expect(paid).toMatchObject({ status: 'finalized', attempts: [{ n: 1, state: 'landed' }] });
    const { chain, record } = await settledBooks(use.stack);
    expect(record).toEqual(chain);
    expect(await use.chain.paymentsTo(destination)).toMatchObject([{ received: 3_000_000n }]);
  }, 120_000);
});

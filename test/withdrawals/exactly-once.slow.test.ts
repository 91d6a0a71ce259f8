import { afterAll, beforeAll, describe, it } from 'vitest';
import { type TestStack, testStack } from '../support/stack.ts';
import { expectEqualOnesPaid } from './equal-withdrawals.ts';

let running: TestStack;

beforeAll(async () => {
  running = await testStack();
});
afterAll(async () => running?.close());

describe('a batch of withdrawals', () => {
  it('with equal terms, 200 of them, is 200 transactions and 200 transfers, to the lamport', async () => {
    await expectEqualOnesPaid(running, 200);
  }, 480_000);
});

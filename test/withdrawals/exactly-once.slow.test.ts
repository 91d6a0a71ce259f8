import { afterAll, beforeAll, describe, it } from 'vitest';
import { type TestStack, testStack } from '../support/stack.ts';
import { expectEqualOnesPaid } from './equal-withdrawals.ts';

let running: TestStack;

beforeAll(async () => {
  running = await testStack();
});
afterAll(async () => running?.close());

describe('a withdrawal', () => {
  it('of 200 equal ones is 200 transactions and 200 transfers, to the lamport', async () => {
    await expectEqualOnesPaid(running, 200);
  }, 480_000);
});

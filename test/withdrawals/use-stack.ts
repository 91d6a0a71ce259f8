import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll } from 'vitest';
import { type TestStack, testStack } from '../support/stack.ts';
import { ChainHand } from './outcomes-support.ts';

/** What the tests of one file do to a running stack, and what they read of it. */
export interface UsedStack extends Pick<TestStack, 'stack' | 'sluice'> {
  readonly chain: ChainHand;
  readonly temporal: Client;
}

/**
 * A running stack for the tests of one file; with `slotMs` 0 its chain stands still until a {@link ChainClock} runs. `settings` are
 * those of all processes.
 */
export function useStack(slotMs?: number, settings?: NodeJS.ProcessEnv): UsedStack {
  let running: TestStack | undefined;
  let connection: Connection | undefined;
  beforeAll(async () => {
    running = await testStack(slotMs, settings);
    connection = await Connection.connect({ address: running.stack.temporal.address });
  });
  afterAll(async () => {
    await connection?.close();
    await running?.close();
  });
  return {
    get stack() {
      return up(running).stack;
    },
    get sluice() {
      return up(running).sluice;
    },
    get chain() {
      return new ChainHand(up(running).stack);
    },
    get temporal() {
      return new Client({ connection: up(connection) });
    },
  };
}

function up<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the stack starts before the first test');
  return part;
}

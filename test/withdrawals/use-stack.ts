import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { ChainClock } from '../support/chain-clock.ts';
import { SLOT_MS, type StackServers, type TestStack, testStack } from '../support/stack.ts';
import { temporalClient } from '../support/temporal.ts';
import { ChainControls } from './outcomes-support.ts';

/** The actions of the tests of one file on a running stack, and their reads. */
export interface UsedStack extends Pick<TestStack, 'stack' | 'sluice'> {
  readonly chain: ChainControls;
  readonly temporal: Client;
}

/** For {@link useStack}: its chain makes no slots except those of a {@link useClock}. */
export const NO_AUTOMATIC_SLOTS = 0;

/** A running stack for the tests of one file. `settings` are those of all processes. */
export function useStack(slotMs?: number, settings?: NodeJS.ProcessEnv, servers?: StackServers): UsedStack {
  let running: TestStack | undefined;
  beforeAll(async () => {
    running = await testStack(slotMs, settings, servers);
  });
  afterAll(() => running?.close());
  return {
    get stack() {
      return started(running).stack;
    },
    get sluice() {
      return started(running).sluice;
    },
    get chain() {
      return new ChainControls(started(running).stack);
    },
    get temporal() {
      return temporalClient(started(running).stack.temporal);
    },
  };
}

/** The clock of a chain without automatic slots: it runs from the start of each test until it is paused. */
export function useClock(use: UsedStack): Pick<ChainClock, 'run' | 'pause'> {
  let clock: ChainClock | undefined;
  beforeAll(() => {
    clock = new ChainClock(use.chain.url, SLOT_MS);
  });
  beforeEach(() => started(clock).run());
  afterAll(() => clock?.pause());
  return { run: () => started(clock).run(), pause: () => started(clock).pause() };
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the stack starts before the first test');
  return part;
}

import { afterAll, beforeAll, describe } from 'vitest';
import { Harness } from './harness.ts';
import { lifetimeSubjects } from './lifetimes.ts';
import { newerSubjects } from './newer.ts';
import { readingSubjects } from './reading.ts';
import { requestSubjects } from './requests.ts';
import { tokenSubjects } from './tokens.ts';
import { transferSubjects } from './transfers.ts';

/** A chain that runs, and how to stop it. */
export interface RunningChain {
  readonly rpcUrl: string;
  readonly wsUrl: string;
  stop(): Promise<void>;
}

/**
 * The tests that every chain must pass. Shapes were recorded from Agave 3.0.0: record again only against the validator.
 * `newer`: the chain has the features of later versions; otherwise their tests are skipped by name.
 */
export function conformanceSuite(
  name: string,
  start: () => Promise<RunningChain>,
  { newer }: { readonly newer: boolean },
): void {
  describe(name, () => {
    let running: RunningChain;
    let harness: Harness;
    beforeAll(async () => {
      running = await start();
      harness = new Harness(running.rpcUrl, running.wsUrl);
      await harness.fund();
    });
    afterAll(() => running.stop());
    const chain = (): Harness => harness;
    requestSubjects(chain);
    transferSubjects(chain);
    readingSubjects(chain);
    tokenSubjects(chain);
    lifetimeSubjects(chain);
    describe.skipIf(!newer)('newer than Agave 3.0.0', () => newerSubjects(chain));
  });
}

import { afterAll, beforeAll, describe } from 'vitest';
import { Harness } from './harness.ts';
import { lifetimeSubjects } from './lifetimes.ts';
import { requestSubjects } from './requests.ts';
import { tokenSubjects } from './tokens.ts';
import { transferSubjects } from './transfers.ts';

/** A chain that runs, and how to stop it. */
export interface RunningChain {
  readonly rpcUrl: string;
  readonly wsUrl: string;
  stop(): Promise<void>;
}

/** The tests that every chain must pass. Shapes were recorded from Agave 3.0.0: record again only against the validator. */
export function conformanceSuite(name: string, start: () => Promise<RunningChain>): void {
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
    tokenSubjects(chain);
    lifetimeSubjects(chain);
  });
}

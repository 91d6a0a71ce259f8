import { defineConfig } from 'vitest/config';

const VALIDATOR = 'test/conformance/validator.test.ts';
/** What starts programs: they run compiled, as from its source each process takes seconds to compile itself. */
const PROCESSES = [
  'test/{cli,localstack,withdrawals,workers}/**/*.test.ts',
  'test/deposits/{stack,reconciliation-crash}.test.ts',
  'test/ledger/{deposit-addresses,withdrawals}.test.ts',
  'test/webhooks/lost-events.test.ts',
];
/** What leaves nothing behind in the modules that it loads: the files of one worker load them once. */
const SHARING = ['test/{client,domain,http,signing,solana}/**/*.test.ts'];

// Two files at a time, one for each core: every file has a database and a Temporal, or task queues, of its own, and ports that
// were free. The longest come first, by the names of the projects.
// `--mode validator` runs only the conformance tests against a real solana-test-validator.
export default defineConfig(({ mode }) => ({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: 2,
    projects:
      mode === 'validator'
        ? [project('validator', [VALIDATOR])]
        : [
            project('processes', PROCESSES, { globalSetup: ['test/support/global-programs.ts'] }),
            project('rooms', ['test/**/*.test.ts'], { exclude: [VALIDATOR, ...PROCESSES, ...SHARING] }),
            project('rooms-sharing', SHARING, { isolate: false }),
          ],
  },
}));

function project(name: string, include: string[], more: object = {}) {
  return {
    test: { name, include, pool: 'forks' as const, testTimeout: 60_000, hookTimeout: 240_000, ...more },
  };
}

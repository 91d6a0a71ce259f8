import { defineConfig } from 'vitest/config';

const VALIDATOR = 'test/conformance/validator.test.ts';

// Two files at a time, one for each core: every file has a database and a Temporal, or task queues, of its own, and its ports from
// the system.
// `--mode validator` runs only the conformance tests against a real solana-test-validator.
export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'validator' ? [VALIDATOR] : ['test/**/*.test.ts'],
    exclude: mode === 'validator' ? [] : [VALIDATOR],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 240_000,
  },
}));

import { defineConfig } from 'vitest/config';

const VALIDATOR = 'test/conformance/validator.test.ts';

// One file at a time: the suites share one Temporal server, one PostgreSQL and two cores.
// `--mode validator` runs only the conformance tests against a real solana-test-validator.
export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'validator' ? [VALIDATOR] : ['test/**/*.test.ts'],
    exclude: mode === 'validator' ? [] : [VALIDATOR],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 240_000,
  },
}));

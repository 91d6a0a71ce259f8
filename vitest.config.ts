import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { SlowestFiles } from './test/support/slowest-files.ts';

/** Packages of `test/peers` bring tests of their own. */
const PACKAGES = '**/node_modules/**';
const VALIDATOR = 'test/**/validator.test.ts';
const SLOW = 'test/**/*.slow.test.ts';
/** What starts programs: they run compiled, as from its source each process takes seconds to compile itself. */
const PROCESSES = [
  'test/{localstack,withdrawals,workers}/**/*.test.ts',
  'test/cli/{cli,deposits,deposit-list,dev,demo-output-start,json-output-on-exit,stopped-database,broken-pipe-and-timeouts}.test.ts',
  'test/deposits/{deposit-scan-stack,reconciliation-crash}.test.ts',
  'test/ledger/{deposits/deposit-addresses,withdrawals/withdrawals}.test.ts',
  'test/webhooks/lost-events.test.ts',
];
/** A validator is busy by itself. */
const WORKERS: Readonly<Record<string, number>> = { slow: 2, validator: 1 };
/** Workers in the process of a test load the shared bundle of the workflows: each bundle of their own takes seconds. */
const SHARED_BUNDLE = {
  find: /^.*\/workflow-source\.ts$/,
  replacement: fileURLToPath(new URL('test/support/workflow-source.ts', import.meta.url)),
};
const PROGRAMS = { globalSetup: ['test/support/global-programs.ts'] };

// The tiers: `npm test` proves every promise; `--mode slow` takes what is long by nature, and `--mode validator` runs the conformance
// tests and the outcomes of withdrawals against a real solana-test-validator, one file after the other. Each file has a database, and a Temporal namespace or task queues, of its own, and ports
// that were free. The longest come first, by the names of the projects. Files with processes use a third of a core, so five files run on two cores.
export default defineConfig(({ mode }) => ({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', new SlowestFiles(), ...report()],
    maxWorkers: WORKERS[mode] ?? 5,
    projects: projectsOf(mode),
  },
}));

/** CI counts the tests by a report of them all, in the file that `TEST_REPORT` names. */
function report(): ['json', { outputFile: string }][] {
  const outputFile = process.env.TEST_REPORT;
  return outputFile === undefined ? [] : [['json', { outputFile }]];
}

function projectsOf(mode: string) {
  if (mode === 'validator') return [project('validator', [VALIDATOR], [], PROGRAMS)];
  if (mode === 'slow') return [project('slow', [SLOW], [], PROGRAMS)];
  const others = [VALIDATOR, SLOW];
  return [
    project('processes', PROCESSES, others, PROGRAMS),
    project('rooms', ['test/**/*.test.ts'], [...others, ...PROCESSES]),
  ];
}

// The files of one worker of vitest load their modules once, so a test leaves nothing behind in them.
function project(name: string, include: string[], exclude: string[], more: object = {}) {
  return {
    test: {
      name,
      include,
      exclude: [PACKAGES, ...exclude],
      pool: 'forks' as const,
      isolate: false,
      alias: [SHARED_BUNDLE],
      expect: { poll: { timeout: 15_000 } },
      testTimeout: 60_000,
      hookTimeout: 240_000,
      ...more,
    },
  };
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runProgram, startDevelopment } from '../support/cli.ts';

vi.setConfig({ testTimeout: 180_000 });

const NO_BINDINGS = `--import=${new URL('../support/no-bigint-bindings.mjs', import.meta.url).href}`;

// Each program loads all of its packages, then exits because of its arguments or settings.
test.each([
  ['bench/main.ts', ['--help'], /^$/],
  ['chaos/main.ts', ['--help'], /^$/],
  ['conformance/main.ts', ['--help'], /^$/],
  ['src/cli.ts', ['--help'], /^$/],
  ['devkit/main.ts', ['--help'], /^$/],
  ['src/server.ts', [], /^sluice: DATABASE_URL .*\n$/],
  ['src/worker.ts', [], /^sluice: DATABASE_URL .*\n$/],
  ['devkit/localnet/main.ts', ['--slot-ms', 'x'], /^(?!.*(bigint|Warning))/s],
])(
  '%s prints no warning of a package, even where npm compiled no bindings',
  async (source, args, expected) => {
    const program = new URL(`../../${source}`, import.meta.url);
    const { stderr } = await runProgram(program, args, { env: { NODE_OPTIONS: NO_BINDINGS } });
    expect(stderr).toMatch(expected);
  },
);

test('the demo first prints what it does, even where npm compiled no bindings', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-first-words-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  // The file has no key, so the demo exits before it starts a service.
  const env = { NODE_OPTIONS: '--no-addons', SLUICE_SIGNER_KEY_FILE: '/dev/null' };
  const { stdout, stderr } = await startDevelopment(['demo'], { cwd, env }).ended;
  expect(stdout).toMatch(/^starting Temporal, PostgreSQL, a Solana chain/);
  expect(stderr).toMatch(/^sluice: .*\n$/);
});

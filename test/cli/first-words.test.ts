import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runSluice } from '../support/cli.ts';

vi.setConfig({ testTimeout: 180_000 });

test('the demo begins with what it does, also where npm compiled no bindings', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-first-words-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  // No key is in that file: it ends before anything starts.
  const env = { NODE_OPTIONS: '--no-addons', SLUICE_SIGNER_KEY_FILE: '/dev/null' };
  const { stdout, stderr } = await runSluice(['demo'], { cwd, env });
  expect(stdout).toMatch(/^starting Temporal, PostgreSQL, a Solana chain/);
  expect(stderr).toMatch(/^sluice: .*\n$/);
});

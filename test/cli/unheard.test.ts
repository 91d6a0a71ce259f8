import { expect, onTestFinished, test, vi } from 'vitest';
import { playServer } from '../client/scripted-server.ts';
import { runSluice, startSluice } from '../support/cli.ts';

// Every command is a process of its own, which takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

test('a command whose reader has gone, as `head` does, ends without a word', async () => {
  const { child, ended } = startSluice(['--help']);
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0, stderr: '' });
});

test('who waits long for an audit hears that it is not done, and what that can be', async () => {
  const audit = { address: 'a', from: '1', to: '2', repair: false };
  const running = { status: 200, body: { ...audit, state: 'running', report: null, why: null } };
  const failed = { status: 200, body: { ...audit, state: 'failed', report: null, why: 'of a test' } };
  const server = await playServer([...Array.from({ length: 13 }, () => running), failed]);
  onTestFinished(() => server.close());
  const env = { SLUICE_API_URL: server.url, SLUICE_API_KEY: 'key-1' };
  const ended = await runSluice(['audit', 'a', '--from', '1', '--to', '2'], { env });
  expect(ended).toMatchObject({ code: 1, stdout: 'the audit failed: of a test\n' });
  expect(ended.stderr).toMatch(/^sluice: the audit is not done yet: .* no worker .*; still waiting\n$/);
});

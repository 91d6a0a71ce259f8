import { expect, onTestFinished, test, vi } from 'vitest';
import { startScriptedServer } from '../client/scripted-server.ts';
import { callSluice } from '../support/call-sluice.ts';
import { startSluice } from '../support/cli.ts';

// Starting a process takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const STEP_MS = 100;

test('a command whose reader has closed the pipe, such as `head`, ends without an error message', async () => {
  const { child, ended } = startSluice(['--help']);
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0, stderr: '' });
});

test('sluice reports that an audit is not finished after a long wait, and names possible reasons', async () => {
  const audit = { id: '7', address: 'a', from: '1', to: '2', repair: false, report: null };
  const running = { status: 200, body: { ...audit, state: 'reading', trouble: null, endedAt: null } };
  const failed = { status: 200, body: { ...audit, state: 'given_up', trouble: 'of a test', endedAt: 'now' } };
  const server = await startScriptedServer([...Array.from({ length: 13 }, () => running), failed]);
  onTestFinished(() => server.close());
  const env = { SLUICE_API_URL: server.url, SLUICE_API_KEY: 'key-1' };
  // Only these two timers are faked: HTTP answers in real time, and the pause between two requests passes at once.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const asking = callSluice(['backfill', 'address', 'a', '--from', '1', '--to', '2', '--reason', 'x'], {
    env,
  });
  const ended = await passingTime(asking, server.seen);
  expect(ended).toMatchObject({ code: 1, stdout: 'the audit failed: of a test\n' });
  expect(ended.stderr).toMatch(/^sluice: still waiting for the audit: .* no worker is running\n$/);
});

/** Lets the time of fake timers pass until `work` has ended: for each request far less than the time-out of a request. */
async function passingTime<T>(work: Promise<T>, seen: readonly unknown[]): Promise<T> {
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  work.then(end, end);
  for (let requests = 0, passedMs = 0; !ended; ) {
    if (seen.length !== requests) [requests, passedMs] = [seen.length, 0];
    if (passedMs < 5_000) await vi.advanceTimersByTimeAsync(STEP_MS);
    passedMs += STEP_MS;
    await new Promise(setImmediate);
  }
  return work;
}

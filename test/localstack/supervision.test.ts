import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ManagedProcess } from '../../devkit/localstack/process.ts';
import { supervise } from '../../devkit/localstack/supervision.ts';

test('a restart in progress does not delay the stop of the stack', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-supervision-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  let comesUp = true;
  const once = new ManagedProcess({
    name: 'once',
    command: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1000)'],
    logFile: join(dir, 'once.log'),
    ready: async () => comesUp,
  });
  onTestFinished(() => once.kill());
  await once.start();
  const { pid } = once;
  const stop = new AbortController();
  const said: string[] = [];
  const supervising = supervise([{ process: once, loss: null }], (line) => said.push(line), stop.signal);
  comesUp = false;
  await once.kill();
  await expect.poll(() => once.pid ?? pid, { timeout: 50_000 }).not.toBe(pid);
  stop.abort();
  await supervising;
  expect(once.running).toBe(false);
  expect(said).toEqual([expect.stringMatching(/^once ended \(SIGKILL\); it is restarted/)]);
});

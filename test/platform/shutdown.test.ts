import { afterEach, expect, test, vi } from 'vitest';
import { Closers, shutdownSignal, untilAborted } from '../../src/platform/shutdown.ts';

afterEach(() => {
  for (const name of ['SIGINT', 'SIGTERM']) process.removeAllListeners(name);
});

test('the shutdown closes services in reverse order, each once, even when one fails', async () => {
  const closed: string[] = [];
  const failures: string[] = [];
  const closers = new Closers();
  closers.add('database', () => closed.push('database'));
  closers.add('worker', () => {
    throw new Error('stuck');
  });
  closers.add('server', async () => closed.push('server'));
  const logger = { error: (_: unknown, message: string) => failures.push(message) };
  await closers.close(logger as never);
  await closers.close(logger as never);
  expect(closed).toEqual(['server', 'database']);
  expect(failures).toEqual(['closing failed: worker']);
});

test('the first SIGTERM aborts the signal, with its name as the reason', async () => {
  const signal = shutdownSignal();
  process.kill(process.pid, 'SIGTERM');
  await untilAborted(signal);
  expect(signal.reason).toBe('SIGTERM');
});

test('any number of callers may wait for the shutdown, without a leak warning of Node.js', async () => {
  const warned = vi.fn();
  process.on('warning', warned);
  const signal = shutdownSignal();
  const waiting = Array.from({ length: 20 }, () => untilAborted(signal));
  process.kill(process.pid, 'SIGTERM');
  await Promise.all(waiting);
  await new Promise(setImmediate);
  process.off('warning', warned);
  expect(warned).not.toHaveBeenCalled();
});

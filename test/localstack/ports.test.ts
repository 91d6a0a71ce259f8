import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { freePort, isFree } from '../../devkit/localstack/ports.ts';

const open: Server[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function listenOn(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  open.push(server);
}

test('free ports are below the ephemeral range, differ from each other, and can be bound', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  expect(Math.min(...ports)).toBeGreaterThanOrEqual(15_000);
  expect(Math.max(...ports)).toBeLessThan(32_768);
  expect(new Set(ports).size).toBe(50);
  for (const port of ports) await listenOn(port);
});

test('the port search skips a taken port', async () => {
  // The next ports follow this one, except those that another process has.
  const taken = (await freePort()) + 1;
  if (await isFree(taken)) await listenOn(taken);
  expect(await isFree(taken)).toBe(false);
  expect(await freePort()).not.toBe(taken);
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routesOf } from '../../src/x402/routes/read-routes.ts';
import { API_KEY, openService, type Service } from '../http/service.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';
import { DEVNET, priced, WALLET } from '../x402/routes/file.ts';

let service: Service;
let apiUrl: string;
let directory: string;

beforeAll(async () => {
  service = await openService({ checkRoutes: (content) => void routesOf(content, DEVNET, 'routes') });
  apiUrl = await service.app.listen({ host: '127.0.0.1', port: 0 });
  directory = mkdtempSync(join(tmpdir(), 'sluice-routes-'));
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await service?.close();
});

function sluice(...args: readonly string[]) {
  const env = { SLUICE_API_URL: apiUrl, SLUICE_API_KEY: API_KEY };
  return callSluice(['routes', ...args], { env, cwd: directory });
}

function write(name: string, content: string): void {
  writeFileSync(join(directory, name), content);
}

test('sluice routes stores a file, shows it as a file that can be stored again, and lists the versions', async () => {
  expect((await sluice('show')).code).toBe(3);
  write('a.json', JSON.stringify({ payTo: WALLET, routes: [priced('/a')] }));
  write('b.json', JSON.stringify({ payTo: WALLET, routes: [priced('/b')] }));
  for (const file of ['a.json', 'b.json'])
    expect((await sluice('put', file, '--reason', `stores ${file}`)).code).toBe(0);
  const earlier = await sluice('show', '--routes-version', '1');
  write('c.json', earlier.stdout);
  expect((await sluice('put', 'c.json', '--reason', 'back', '--expected-version', '1')).code).not.toBe(0);
  expect((await sluice('put', 'c.json', '--reason', 'back', '--expected-version', '2')).code).toBe(0);
  expect(JSON.parse((await sluice('show')).stdout)).toEqual({ payTo: WALLET, routes: [priced('/a')] });
  expect(jsonOf(await sluice('versions', '-o', 'json'))).toMatchObject({
    versions: [
      { version: '3', source: 'api', actor: 'tests', reason: 'back' },
      { version: '2', reason: 'stores b.json' },
      { version: '1', reason: 'stores a.json' },
    ],
  });
});

test('sluice routes put refuses a file with a fault, and names each place', async () => {
  write('wrong.json', '{"routes": [{"path": "/a", "price": "1", "price": "2"}]}');
  expect(await sluice('put', 'wrong.json', '--reason', 'a test')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the key price appears twice'),
  });
  write('wrong.json', JSON.stringify({ routes: [priced('/a')] }));
  expect(await sluice('put', 'wrong.json', '--reason', 'a test')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('routes[0].payTo: must be set'),
  });
});

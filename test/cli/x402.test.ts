import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';

const WALLET = '9B5XszUGdMaxCZ7uSQhPzdks5ZQSmWxrmzCSvtJ6Ns6g';
const FILE = {
  payTo: WALLET,
  routes: [
    { path: '/reports/:id', price: '0.001', upstream: 'http://127.0.0.1:9000' },
    { path: '/health', free: true, answer: { body: 'ok' } },
  ],
};
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-x402-'));
  writeFileSync(join(directory, 'x402.routes.json'), JSON.stringify(FILE));
  writeFileSync(
    join(directory, 'wrong.json'),
    JSON.stringify({
      routes: [
        { path: 'a', price: 1 },
        { path: '/b', free: true },
      ],
    }),
  );
});
afterAll(() => rmSync(directory, { recursive: true }));

const routes = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  callSluice(['x402', 'check', ...args], { cwd: directory, env });

describe('sluice x402 check', () => {
  test('lists the routes of x402.routes.json', async () => {
    const ended = await routes([]);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const [headings, ...rows] = ended.stdout.trimEnd().split('\n');
    expect(headings).toMatch(/^method +path +price \(base units\) +asset +pay to +flow +answered by$/);
    expect(rows[0]).toMatch(
      new RegExp(
        `^GET +/reports/:id +1000 +4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU +${WALLET} +settle-first +http://127.0.0.1:9000$`,
      ),
    );
    expect(rows[1]).toMatch(/^GET +\/health +free +static answer$/);
  });

  test('prints amounts as decimal strings in JSON, and the mint of the cluster', async () => {
    const ended = await routes(['x402.routes.json', '-o', 'json'], { SLUICE_CLUSTER: 'mainnet-beta' });
    expect(jsonOf(ended)).toMatchObject({
      file: 'x402.routes.json',
      cluster: 'mainnet-beta',
      routes: [
        {
          id: 'GET /reports/:id',
          path: '/reports/:id',
          kind: 'priced',
          prices: [
            {
              amount: '1000',
              asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
              finalizedAbove: null,
              confirmedByTwoAbove: null,
            },
          ],
          upstreamPrice: null,
        },
        { id: 'GET /health', kind: 'free', upstream: null, answer: { status: 200 } },
      ],
    });
  });

  test('names every fault of a file with its place and exits with code 2', async () => {
    const ended = await routes([], { SLUICE_X402_ROUTES: 'wrong.json' });
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr.split('\n').slice(0, 2)).toEqual([
      'sluice: wrong.json is not a valid routes file:',
      expect.stringMatching(/^ {2}routes\[0\]\.path: must be a path such as /),
    ]);
    for (const fault of ['routes[0].price: must be', 'routes[0].payTo: must be set', 'routes[1]: must have'])
      expect(ended.stderr).toContain(`  ${fault}`);
    expect(jsonOf(await routes(['wrong.json', '-o', 'json']))).toMatchObject({
      ok: false,
      error: { code: 'InvalidRequest' },
    });
  });

  test('names a missing file and a bad setting and exits with code 2', async () => {
    const none = await routes(['none.json']);
    expect(none).toMatchObject({ code: 2, stderr: 'sluice: the routes file none.json does not exist\n' });
    const bad = await routes([], { SLUICE_CLUSTER: 'moon' });
    expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining('SLUICE_CLUSTER') });
  });

  test('reads the file of a running npm run dev, unless the folder has its own', async () => {
    const cwd = join(directory, 'dev');
    mkdirSync(join(cwd, '.sluice'), { recursive: true });
    const routesFile = join(directory, 'wrong.json');
    writeFileSync(
      join(cwd, '.sluice/dev.json'),
      JSON.stringify({ sales: { routesFile, buyerKeyFile: null } }),
    );
    const check = () => callSluice(['x402', 'check', '-o', 'json'], { cwd });
    expect((await check()).stderr).toContain(`${routesFile} is not a valid routes file`);
    writeFileSync(join(cwd, 'x402.routes.json'), JSON.stringify(FILE));
    expect(jsonOf(await check())).toMatchObject({ file: 'x402.routes.json' });
  });

  test('prints the JSON schema, without reading a file', async () => {
    const ended = await callSluice(['x402', 'schema'], { cwd: tmpdir() });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const schema = JSON.parse(ended.stdout) as { properties: object; required: string[] };
    expect(schema.required).toEqual(['routes']);
    expect(Object.keys(schema.properties)).toEqual(['$schema', 'payTo', 'routes']);
    expect(jsonOf(await callSluice(['x402', 'schema', '-o', 'json'], { cwd: tmpdir() }))).toEqual(schema);
  });
});

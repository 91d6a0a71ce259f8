import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type LocalPostgres, startPostgres } from '../../devkit/localstack/postgres.ts';
import { API_KEY, authorization, openService, type Service } from '../http/service.ts';
import { runSluice } from '../support/cli.ts';
import { pausePostgres } from '../support/paused-postgres.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const SAYS = 'PostgreSQL does not answer: check its server and the network';
const SAYS_OF_ORDER = `${SAYS}. The request may still have been executed: check its result before you repeat it`;

let postgres: LocalPostgres;
let service: Service;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  postgres = await startPostgres({ logDir: mkdtempSync(join(tmpdir(), 'sluice-logs-')), env: {} });
  service = await openService({ database: { url: postgres.url, drop: () => postgres.stop() } });
  const apiUrl = await service.app.listen({ host: '127.0.0.1', port: 0 });
  env = { SLUICE_API_URL: apiUrl, SLUICE_API_KEY: API_KEY, DATABASE_URL: postgres.url };
});
afterAll(() => service.close());

function get(url: string) {
  return service.app.inject({ method: 'GET', url, headers: { authorization } });
}

const PATHS = ['/v1/deposits', '/v1/scan', '/v1/webhooks', '/v1/withdrawals/none', '/v1/reconciliation'];
const COMMANDS = [
  ['deposits', 'list'],
  ['scan', 'status'],
  ['webhooks', 'list'],
  ['withdrawals', 'get', 'none'],
  ['settlements', 'pause', '--reason', 'a test', '--database'],
];

it('a stopped database is a 503 of every route, on open and on new connections; a command ends with exit code 5 and advice', async () => {
  await Promise.all(PATHS.map(get));
  const resume = pausePostgres(postgres);
  const commands = COMMANDS.map((args) => runSluice([...args, '-o', 'json'], { env }));
  const answers = await Promise.all([...PATHS, ...PATHS].map(get));
  const order = await service.app.inject({
    method: 'POST',
    url: '/v1/deposit-addresses',
    headers: { authorization },
    payload: { userRef: 'user-1' },
  });
  const ended = await Promise.all(commands);
  resume();
  for (const answer of answers) {
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ code: 'Unavailable', detail: SAYS });
  }
  expect(order.json()).toMatchObject({ status: 503, code: 'Unavailable', detail: SAYS_OF_ORDER });
  expect((await get('/v1/deposits')).statusCode).toBe(200);
  for (const { code, stdout, stderr } of ended) {
    expect(stderr).toMatch(/PostgreSQL|database/);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'Unavailable' } });
    expect(code).toBe(5);
  }
  expect(ended[0]?.stderr).toContain(`${SAYS}\n`);
});

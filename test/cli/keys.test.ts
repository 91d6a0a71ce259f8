import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLedger } from '../../src/ledger/ledger.ts';
import { callSluice } from '../support/call-sluice.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database?.drop());

const MINT = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU';
const WALLET = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const keys = (...args: readonly string[]) =>
  callSluice(['keys', ...args, '-o', 'json'], { env: { DATABASE_URL: database.url } });

test('keys create, list and revoke keys of both kinds', async () => {
  const [exchange, shop] = await Promise.all([
    keys('create', 'billing'),
    keys('create', 'shop', '--facilitator'),
  ]);
  const secrets = [exchange, shop].map(({ stdout }): string => JSON.parse(stdout).key);
  const listed = await keys('list');
  expect(JSON.parse(listed.stdout)).toMatchObject({
    keys: [
      { name: 'billing', kind: 'api' },
      { name: 'shop', kind: 'facilitator' },
    ],
  });
  for (const secret of secrets) expect(listed.stdout).not.toContain(secret);
  const ledger = await openLedger(database.url);
  expect(await ledger.apiKeys.nameOf(secrets[0] ?? '')).toBe('billing');
  expect(await ledger.apiKeys.facilitatorKey(secrets[1] ?? '')).toMatchObject({ name: 'shop' });
  await ledger.close();
  const limits = ['--mint', MINT, '--pay-to', MINT, WALLET, '--lamports-per-hour', '500000'];
  expect((await keys('create', 'limited', '--facilitator', ...limits)).code).toBe(0);
  expect(JSON.parse((await keys('list')).stdout).keys[1]).toMatchObject({
    name: 'limited',
    mints: [MINT],
    payTos: [MINT, WALLET],
    lamportsPerHour: '500000',
  });
  expect((await keys('create', 'limited', ...limits)).code).toBe(2);
  expect((await keys('create', 'limited', '--facilitator', '--mint', 'USDC')).code).toBe(2);
  expect((await keys('revoke', 'limited', '--yes')).code).toBe(0);
  expect((await keys('create', 'shop', '--yes')).code).toBe(2);
  expect((await keys('revoke', 'shop', '--yes')).code).toBe(0);
  expect(JSON.parse((await keys('list')).stdout).keys).toHaveLength(1);
  expect((await keys('revoke', 'shop', '--yes')).code).toBe(3);
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { rowsRead } from '../../bench/scale/capture.ts';
import { type Captured, captureQueries, NOT_CALLED, wholeReadsOf } from '../../bench/scale/queries.ts';
import { fill } from '../../bench/scale/rows.ts';
import { withClient } from '../../bench/scale/server.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';

const ROWS = 100_000;
let database: TestDatabase;
let captured: Captured;

beforeAll(async () => {
  database = await freshDatabase();
  await withClient(database.url, (client) => fill(client, ROWS, () => undefined));
  captured = await captureQueries(database.url, ROWS, 1);
});
afterAll(() => database?.drop());

it('no query of the API, the workers and the alarms reads a table of history whole', () => {
  expect(captured.queries.length).toBeGreaterThan(300);
  expect(wholeReadsOf(captured.queries)).toEqual([]);
});

it('a page of a list reads a page, whatever its filter: not what is newer and does not pass it', () => {
  const lists = captured.queries.filter(({ name }) =>
    /^(withdrawals|settlementViews|payments|deposits|alerts)\.list/.test(name),
  );
  expect(lists.length).toBeGreaterThan(30);
  expect(lists.filter(({ plan }) => rowsRead(plan) > 1_000).map(({ name }) => name)).toEqual([]);
});

it('every method of the ledger is among them, or is named with the reason why not', async () => {
  const ledger = await openLedger(database.url);
  const methods = Object.entries(ledger).flatMap(([part, value]: [string, unknown]) =>
    part === 'db' || typeof value !== 'object' || value === null
      ? []
      : Object.getOwnPropertyNames(Object.getPrototypeOf(value))
          .filter((name) => name !== 'constructor')
          .map((name) => `${part}.${name}`),
  );
  await ledger.close();
  const missing = methods.filter((name) => !captured.called.has(name) && !(name in NOT_CALLED));
  expect(missing).toEqual([]);
  expect(Object.keys(NOT_CALLED).filter((name) => captured.called.has(name))).toEqual([]);
});

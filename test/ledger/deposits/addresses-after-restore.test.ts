import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { address } from '../chain-of-blocks.ts';
import { useLedger } from '../support.ts';

const use = useLedger();
const MANY = 45_000;
let client: pg.Client;

/** The physical location of each row: an update changes it. */
async function places(): Promise<string> {
  const { rows } = await client.query(
    `select md5(string_agg(ctid::text, ' ' order by position)) as places from deposit_address where position <= ${MANY}`,
  );
  return rows[0].places;
}

beforeAll(async () => {
  client = new pg.Client({ connectionString: use.url });
  await client.connect();
  const name = "translate(md5(i::text), '0', 'z')";
  await client.query(`insert into watched_wallet (address, kind, version)
    select ${name}, 'deposit', 1 from generate_series(1, ${MANY}) i`);
  await client.query(`insert into deposit_address (address, path, state)
    select ${name}, 'm/' || i, 'free' from generate_series(1, ${MANY}) i`);
});
afterAll(() => client?.end());

describe('the unassigned addresses of a restored database', () => {
  let before: string;
  beforeEach(async () => {
    before = await places();
    await use.ledger.continuity.pulse();
    await sql`update continuity set identity = 'the old primary'`.execute(use.ledger.db);
    await use.ledger.continuity.quarantine(1n, null);
    await use.ledger.continuity.endGap(1n);
  });

  it('are withheld without a write to their rows, however many they are', async () => {
    const { addresses } = use.ledger;
    expect(await addresses.freeCount()).toBe(0);
    await addresses.import([{ address: address('fresh'), path: 'm' }]);
    expect(await addresses.freeCount()).toBe(1);
    expect(await places()).toBe(before);
  });
});

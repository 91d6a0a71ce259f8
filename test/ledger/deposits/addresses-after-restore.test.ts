import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { address } from '../chain-of-blocks.ts';
import { lockWaits } from '../deposit-ledger.ts';
import { codeOf, useLedger } from '../support.ts';

const use = useLedger();
/** More than are released at once. */
const MANY = 45_000;
let client: pg.Client;

/** Where each row is: another place for each that is written to. */
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

describe('in a restored record, all the addresses that nobody has', () => {
  let before: string;
  beforeEach(async () => {
    before = await places();
    await use.ledger.continuity.pulse();
    await sql`update continuity set identity = 'the old primary'`.execute(use.ledger.db);
    await use.ledger.continuity.quarantine(1n, null);
    await use.ledger.continuity.heal(1n);
  });

  it('are kept back, and released, at one stroke each, however many they are', async () => {
    const { addresses } = use.ledger;
    expect(await addresses.freeCount()).toBe(0);
    await addresses.import([{ address: address('fresh'), path: 'm' }]);
    expect(await addresses.freeCount()).toBe(1);
    expect(await addresses.release('ops', 'nobody signed up that day')).toBe(MANY);
    expect(await addresses.freeCount()).toBe(MANY + 1);
    expect(await places()).toBe(before);
  });

  it('are released along with those that were imported to be kept back, some at once', async () => {
    await client.query(`update deposit_address set state = 'doubtful' where position > 100`);
    expect(await use.ledger.addresses.freeCount()).toBe(0);
    expect(await use.ledger.addresses.release('ops', 'nobody signed up that day')).toBe(MANY + 1);
  });

  it('stay kept back where the record was restored once more while an operator released them', async () => {
    const { addresses, continuity, db } = use.ledger;
    await addresses.import([{ address: address('kept'), path: 'm/kept' }], null, { keptBack: true });
    const holder = new pg.Client({ connectionString: use.url });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query(`select from deposit_address where address = $1 for update`, [address('kept')]);
      const released = codeOf(addresses.release('ops', 'nobody signed up that day'));
      await lockWaits(db);
      await sql`update continuity set identity = 'the old primary'`.execute(db);
      await continuity.quarantine(2n, null);
      await continuity.heal(2n);
      await holder.query('commit');
      expect(await released).toBe('RecordInDoubt');
      expect(await sql`select doubtful_up_to > 0 as kept from continuity`.execute(db)).toMatchObject({
        rows: [{ kept: true }],
      });
    } finally {
      await holder.end();
    }
  });

  it('end their alert also where none of them can be given out any more', async () => {
    const { addresses, alerts, db } = use.ledger;
    await sql`update deposit_address set state = 'used' where state in ('free', 'doubtful')`.execute(db);
    expect(await addresses.release('ops', 'all of them were paid')).toBe(0);
    expect((await alerts.list({ open: true, limit: 9 })).rows).toEqual([]);
  });
});

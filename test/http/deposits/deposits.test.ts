import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SluiceClient } from '../../../src/client/client.ts';
import type { BlockHeader, Inflow } from '../../../src/domain/deposit.ts';
import { address, chain, inflow, START } from '../../ledger/chain-of-blocks.ts';
import { confirmAll } from '../../ledger/deposit-ledger.ts';
import { API_KEY, authorization, openService, type Service } from '../service.ts';

const [ALICE, BOB, UNASSIGNED] = ['alice', 'bob', 'unassigned'].map(address) as [string, string, string];

let service: Service;
let sluice: SluiceClient;
let tip: BlockHeader = START;

beforeAll(async () => {
  service = await openService();
  const { ledger } = service;
  const entries = [ALICE, BOB, UNASSIGNED].map((wallet, at) => ({ address: wallet, path: `m/${at}'` }));
  await ledger.addresses.import(entries);
  await ledger.scan.start(START);
  await ledger.addresses.assign('alice');
  await ledger.addresses.assign('bob');
  const baseUrl = await service.app.listen({ host: '127.0.0.1', port: 0 });
  sluice = new SluiceClient({ baseUrl, apiKey: API_KEY });
});
afterAll(() => service?.close());

/** Commits a block with these inflows. */
async function block(...inflows: readonly Inflow[]): Promise<void> {
  const { ledger } = service;
  const blocks = chain(tip, inflows);
  const watchVersion = await ledger.watched.version();
  await ledger.scan.commit({ expected: tip, blocks, watchVersion });
  tip = blocks[0]?.header ?? tip;
}

async function get(url: string) {
  const answer = await service.app.inject({ url, headers: { authorization } });
  return { status: answer.statusCode, body: answer.json() };
}

async function kinds(url: string): Promise<readonly string[]> {
  const { body } = await get(url);
  return body.events.map((event: { sequence: string; kind: string }) => `${event.sequence} ${event.kind}`);
}

describe('the deposit feed', () => {
  test('is empty at first, and returns a cursor', async () => {
    expect((await get('/v1/deposits?after=0')).body).toEqual({ events: [], next: '0' });
    expect((await get('/v1/deposits')).body).toEqual({ deposits: [], nextCursor: null });
  });

  test('returns every change of a deposit, each with its state at that time', async () => {
    await block(
      inflow(ALICE, 2n ** 63n + 1n, { signature: 'sig/1' }),
      inflow(UNASSIGNED, 7n, { reason: 'unknown_mint', asset: BOB }),
    );
    await confirmAll(service.ledger);
    const { events, next } = (await get('/v1/deposits?after=0')).body;
    expect(next).toBe('3');
    const deposit = {
      id: expect.stringMatching(/^dep_[0-9a-f]{32}$/),
      signature: 'sig/1',
      slot: '101',
      blockhash: 'b101',
      blockTime: '1970-01-01T00:16:41.000Z',
      account: ALICE,
      wallet: ALICE,
      userRef: 'alice',
      asset: 'SOL',
      amount: '9223372036854775809',
      reason: null,
      explorerUrl: 'https://explorer.example/tx/sig/1?cluster=devnet',
    };
    expect(events).toEqual([
      { sequence: '1', kind: 'pending', at: expect.any(String), deposit: { ...deposit, state: 'pending' } },
      { sequence: '2', kind: 'final', at: expect.any(String), deposit: { ...deposit, state: 'final' } },
      {
        sequence: '3',
        kind: 'not_credited',
        at: expect.any(String),
        deposit: expect.objectContaining({
          wallet: UNASSIGNED,
          userRef: null,
          amount: '7',
          state: 'not_credited',
          reason: 'unknown_mint',
        }),
      },
    ]);
  });

  test('has the id of each deposit, which the database finds by its index', async () => {
    const { deposits } = (await get('/v1/deposits')).body;
    for (const deposit of deposits) expect((await get(`/v1/deposits/${deposit.id}`)).body).toEqual(deposit);
    const unknown = `dep_${'0'.repeat(32)}`;
    expect(await get(`/v1/deposits/${unknown}`)).toMatchObject({
      status: 404,
      body: { code: 'NotFound', detail: `there is no deposit ${unknown}` },
    });
    expect((await get('/v1/deposits/dep_1')).status).toBe(400);
  });

  test('continues after any event, by pages, and filters by wallet, user, state and asset', async () => {
    await block(inflow(BOB, 10n), inflow(ALICE, 11n));
    await confirmAll(service.ledger);
    expect(await kinds('/v1/deposits?after=0&limit=2')).toEqual(['1 pending', '2 final']);
    expect(await kinds('/v1/deposits?after=5')).toEqual(['6 final', '7 final']);
    expect(await kinds(`/v1/deposits?after=0&address=${BOB}`)).toHaveLength(2);
    expect(await kinds('/v1/deposits?after=3&userRef=alice&state=final')).toHaveLength(1);
    expect(await kinds(`/v1/deposits?after=0&asset=${BOB}`)).toEqual(['3 not_credited']);
    expect((await get('/v1/deposits?after=7')).body).toEqual({ events: [], next: '7' });
  });

  test('returns how far it searched where a filter matches no event', async () => {
    expect((await get(`/v1/deposits?after=2&asset=${ALICE}`)).body).toEqual({ events: [], next: '7' });
    expect((await get(`/v1/deposits?after=2&asset=${BOB}&limit=1`)).body).toMatchObject({ next: '3' });
  });

  test.each([
    ['after=-1', 'after', 'whole number below 10^18'],
    ['after=x', 'after', 'whole number below 10^18'],
    ['after=9999999999999999999', 'after', 'whole number below 10^18'],
    ['after=0&after=1', 'after', 'must be a string'],
    ['cursor=newest', 'cursor', 'must be the `nextCursor`'],
    ['state=lost', 'state', 'must be one of pending, final'],
    ['limit=0', 'limit', 'must be at least 1'],
    ['limit=201', 'limit', 'must be at most 200'],
    ['limit=all', 'limit', 'must be a number'],
    ['address=0', 'address', 'must be a base58 address'],
    ['userRef=%00', 'userRef', '1 to 128 visible ASCII characters'],
    ['asset=usdc', 'asset', 'must be `SOL`, or the base58 address of a mint'],
    ['asset=%00', 'asset', 'must be `SOL`'],
    ['mint=SOL', 'mint', 'is not a known field'],
  ])('refuses a bad request and names the wrong field: %s', async (query, field, expected) => {
    const { body } = await get(`/v1/deposits?${query}`);
    expect(body).toMatchObject({ status: 400, code: 'InvalidRequest', field });
    expect(body.detail).toContain(expected);
  });

  test('reports a cursor ahead of the database', async () => {
    expect((await get('/v1/deposits?after=8')).body).toMatchObject({
      status: 409,
      code: 'FeedBehind',
      field: 'after',
      last: '7',
    });
  });
});

describe('the rejection of a deposit', () => {
  const reject = (id: string, payload: object) =>
    service.app.inject({
      method: 'POST',
      url: `/v1/deposits/${id}/reject`,
      headers: { authorization },
      payload,
    });
  const unknown = `dep_${'0'.repeat(32)}`;

  test.each([
    ['an id of another kind', '5', { reason: 'a test' }, { status: 400, field: 'id' }],
    ['no reason', unknown, {}, { status: 400, field: 'reason' }],
    ['an empty reason', unknown, { reason: ' ' }, { status: 400, field: 'reason' }],
    ['an unknown id', unknown, { reason: 'a test' }, { status: 404, code: 'NotFound', id: unknown }],
  ])('is refused for %s', async (_case, id, payload, problem) => {
    expect((await reject(id, payload)).json()).toMatchObject(problem);
  });
});

describe('the deposit list', () => {
  test('shows current deposits, newest first, by pages', async () => {
    const first = (await get('/v1/deposits?limit=3')).body;
    expect(
      first.deposits.map(({ amount, state }: { amount: string; state: string }) => [amount, state]),
    ).toEqual([
      ['11', 'final'],
      ['10', 'final'],
      ['7', 'not_credited'],
    ]);
    const rest = (await get(`/v1/deposits?limit=3&cursor=${first.nextCursor}`)).body;
    expect(rest).toMatchObject({ deposits: [{ amount: '9223372036854775809' }], nextCursor: null });
    expect((await get(`/v1/deposits?asset=${ALICE}`)).body).toEqual({ deposits: [], nextCursor: null });
    expect((await get('/v1/deposits?state=not_credited')).body.deposits).toHaveLength(1);
    expect((await get('/v1/deposits?userRef=bob')).body.deposits).toMatchObject([{ wallet: BOB }]);
  });
});

describe('the client of the deposit routes', () => {
  test('lists across pages, and reads the feed to its end', async () => {
    const amounts: string[] = [];
    for await (const { amount } of sluice.deposits.list({ asset: 'SOL' })) amounts.push(amount);
    expect(amounts).toEqual(['11', '10', '9223372036854775809']);
    const seen: string[] = [];
    for await (const { sequence } of sluice.deposits.events({ after: '2', follow: false }))
      seen.push(sequence);
    expect(seen).toEqual(['3', '4', '5', '6', '7']);
    for await (const { sequence } of sluice.deposits.events({ asset: ALICE, follow: false }))
      seen.push(sequence);
    expect(seen).toHaveLength(5);
  });

  test('waits for new events, and returns each event once', async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      const feed = sluice.deposits.events({ after: '6', state: 'final', signal: stop.signal, pollMs: 5 });
      for await (const { sequence, deposit } of feed) {
        seen.push(`${sequence} ${deposit.amount}`);
        if (seen.length === 3) stop.abort(new Error('enough'));
      }
    })();
    await expect.poll(() => seen, { timeout: 20_000 }).toEqual(['7 11']);
    await block(inflow(BOB, 21n));
    await confirmAll(service.ledger);
    await expect.poll(() => seen, { timeout: 20_000 }).toEqual(['7 11', '9 21']);
    await block(inflow(BOB, 22n));
    await confirmAll(service.ledger);
    await expect(reading).rejects.toThrow('enough');
    expect(seen).toEqual(['7 11', '9 21', '11 22']);
  });
});

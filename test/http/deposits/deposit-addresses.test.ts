import { Keypair } from '@solana/web3.js';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import { DepositKeys } from '../../../src/deposits/addresses/hd-keys.ts';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { chain as blocks, inflow, START } from '../../ledger/chain-of-blocks.ts';
import { DepositsApi } from '../deposits-fixture.ts';
import { EXPLORER } from '../service.ts';

const ROOT = '/v1/deposit-addresses';

let api: DepositsApi;
beforeAll(async () => {
  api = await DepositsApi.open();
  await api.ledger.scan.start(START);
});
afterEach(() => api.localnet.controls.clearFaults());
afterAll(() => api?.close());

const assign = (userRef: string) => api.call('POST', ROOT, { userRef });
const importing = (first: number, count: number, since?: string) =>
  api.call('POST', `${ROOT}/import`, {
    manifest: api.manifest(first, count),
    ...(since === undefined ? {} : { since }),
  });
async function openAlerts(): Promise<readonly string[]> {
  const { rows } = await api.ledger.alerts.list({ open: true, limit: 10 });
  return rows.map(({ kind, message }) => `${kind}: ${message}`);
}

describe('the address pool', () => {
  test('answers 503 when it is empty, and raises an alert', async () => {
    const { status, body } = await assign('early');
    expect([status, body.code]).toEqual([409, 'NoFreeAddress']);
    expect(await openAlerts()).toEqual([
      'addresses_low: 0 deposit addresses are free, fewer than 2: import more',
    ]);
  });

  test('is filled by an import, which ends the alert; the same import again changes nothing', async () => {
    expect(await importing(0, 3)).toEqual({
      status: 200,
      body: { imported: 3, known: 0, free: 3, warnings: [] },
    });
    expect(await openAlerts()).toEqual([]);
    expect((await importing(0, 3)).body).toMatchObject({ imported: 0, known: 3, free: 3 });
    const { address } = api.keys.entry(0);
    expect([...(await api.ledger.watched.watchKindsOf([address]))]).toEqual([[address, 'deposit']]);
  });

  test('assigns one lasting address to each user; each assignment from a low pool updates the alert', async () => {
    const [one, two] = [await assign('user-1'), await assign('user-2')];
    expect(one).toMatchObject({
      status: 200,
      body: { ...api.keys.entry(0), state: 'assigned', userRef: 'user-1' },
    });
    expect(two.body.address).toBe(api.keys.entry(1).address);
    expect(await openAlerts()).toEqual([expect.stringContaining('addresses_low: 1 deposit addresses')]);
    expect((await assign('user-1')).body).toEqual(one.body);
    expect((await api.call('GET', `${ROOT}?userRef=user-1`)).body).toEqual(one.body);
    expect((await api.call('GET', `${ROOT}/${one.body.address}`)).body).toEqual(one.body);
  });

  test('assigns an address from the newest final slot on, even where the scan is behind', async () => {
    api.localnet.controls.produceSlots(200);
    const tip = BigInt(api.localnet.controls.chain.at('finalized').slot);
    expect((await api.ledger.scan.cursor())?.slot).toBeLessThan(tip);
    await api.call('POST', ROOT, { userRef: 'user-3' }, await api.also({ chain: api.chain }));
    const row = await api.ledger.addresses.byUser('user-3');
    expect(row?.assignedAfter).toBe(tip);
  });

  test('assigns no new address while no quorum of nodes returns the finalized slot', async () => {
    api.localnet.controls.setFault(0, 'getEpochInfo', { kind: 'http', status: 503 });
    const other = await api.also({ chain: api.chain });
    const assignThere = (userRef: string) => api.call('POST', ROOT, { userRef }, other);
    const { status, body } = await assignThere('user-4');
    expect([status, body.code]).toEqual([503, 'NoHealthyNode']);
    expect((await assignThere('user-1')).status).toBe(200);
  });

  test('assigns one address to two concurrent calls for one user', async () => {
    await importing(10, 5);
    const answers = await Promise.all(Array.from({ length: 6 }, () => assign('at-once')));
    expect(new Set(answers.map(({ body }) => body.address)).size).toBe(1);
  });

  test('assigns an address with possible earlier payments only after an audit', async () => {
    const { address } = api.keys.entry(20);
    expect((await importing(20, 1, '77')).body).toMatchObject({ imported: 1 });
    const { body } = await api.call('GET', `${ROOT}/${address}`);
    expect(body).toMatchObject({ state: 'auditing', since: '77', userRef: null, assignedAt: null });
  });

  test('refuses an import with a `since` in the future, and stores nothing', async () => {
    const tip = BigInt(api.localnet.controls.chain.at('confirmed').slot);
    const refused = await importing(21, 1, `${tip + 1n}`);
    expect(refused).toMatchObject({ status: 409, body: { code: 'SlotsNotRecorded', field: 'since' } });
    expect(refused.body.detail).toBe(`since is in the future: the newest slot is ${tip}`);
    const { address } = api.keys.entry(21);
    expect((await api.call('GET', `${ROOT}/${address}`)).status).toBe(404);
    expect(await importing(21, 1, `${tip}`)).toMatchObject({ status: 200, body: { imported: 1 } });
    // A confirmed block may contain an earlier payment, though it is not final yet.
    expect(tip).toBeGreaterThan(BigInt(api.localnet.controls.chain.at('finalized').slot));
    expect((await api.ledger.addresses.byAddress(address))?.importedAfter).toBe(tip);
  });

  test('refuses an import of used addresses without nodes, since the end of the audit is unknown', async () => {
    const other = await api.also({});
    const manifest = api.manifest(22, 1);
    const importThere = (how: object) => api.call('POST', `${ROOT}/import`, { manifest, ...how }, other);
    const { status, body } = await importThere({ since: '1' });
    expect([status, body.code, body.detail]).toEqual([
      503,
      'Unavailable',
      'the API has no Solana nodes: set SLUICE_RPC_URLS',
    ]);
    expect(await importThere({})).toMatchObject({ status: 200, body: { imported: 1 } });
  });
});

describe('a database restored from a backup', () => {
  test('answers a new user with a retry, and assigns an address of a new manifest', async () => {
    const { continuity, db } = api.ledger;
    await importing(40, 2);
    await continuity.pulse();
    await sql`update continuity set identity = 'the old primary'`.execute(db);
    expect(await assign('after')).toMatchObject({ status: 503, body: { code: 'DatabaseIncomplete' } });
    await continuity.quarantine(1n, null);
    await continuity.endGap(1n);
    expect(await assign('after')).toMatchObject({ status: 409, body: { code: 'NoFreeAddress' } });
    const { address } = api.keys.entry(41);
    expect((await api.call('GET', `${ROOT}/${address}`)).body).toMatchObject({ state: 'withheld' });
    expect(await openAlerts()).toContainEqual(expect.stringContaining('addresses_withheld'));
    await importing(42, 1);
    expect(await assign('after')).toMatchObject({
      status: 200,
      body: { address: api.keys.entry(42).address },
    });
    await sql`delete from continuity`.execute(db);
    await api.ledger.alerts.close('addresses_withheld', 'sluice');
  });
});

describe('an untrusted manifest stores nothing', () => {
  test('after a change behind its signature', async () => {
    const manifest = { ...api.manifest(30, 2), entries: [api.keys.entry(30), api.keys.entry(32)] };
    const { status, body } = await api.call('POST', `${ROOT}/import`, { manifest });
    expect([status, body.code, body.field]).toEqual([409, 'ManifestRejected', 'manifest.signature']);
    expect(await api.ledger.addresses.byAddress(api.keys.entry(30).address)).toBeUndefined();
  });

  test('with a known address under another path', async () => {
    const elsewhere = { ...api.keys.entry(0), path: "m/44'/501'/7'/0'" };
    const manifest = api.keys.manifest([api.keys.entry(30), elsewhere]);
    const { status, body } = await api.call('POST', `${ROOT}/import`, { manifest });
    expect([status, body.code, body.field]).toEqual([400, 'InvalidRequest', 'path']);
    expect(await api.ledger.addresses.byAddress(api.keys.entry(30).address)).toBeUndefined();
  });

  test('with another key than the configured one', async () => {
    const manifestKey = new DepositKeys(new Uint8Array(64).fill(4)).manifestKey;
    const strict = await api.also({ addresses: { manifestKey, lowWater: 0 } });
    const manifest = api.manifest(30, 1);
    const { status, body } = await api.call('POST', `${ROOT}/import`, { manifest }, strict);
    expect([status, body.field]).toEqual([409, 'manifest.publicKey']);
    const own = await api.also({ addresses: { manifestKey: manifest.publicKey, lowWater: 0 } });
    expect((await api.call('POST', `${ROOT}/import`, { manifest }, own)).status).toBe(200);
  });

  test('on mainnet without a configured key', async () => {
    const mainnet = await api.also({ explorer: { ...EXPLORER, cluster: 'mainnet-beta' } });
    const { status, body } = await api.call(
      'POST',
      `${ROOT}/import`,
      { manifest: api.manifest(33, 1) },
      mainnet,
    );
    expect([status, body.code]).toEqual([409, 'ManifestRejected']);
    expect(body.detail).toContain('SLUICE_ADDRESS_MANIFEST_KEY');
    expect(await api.ledger.addresses.byAddress(api.keys.entry(33).address)).toBeUndefined();
  });

  test.each([
    ['a field outside the signature', { note: 'x' }],
    ['another version', { version: 2 }],
  ])('with %s, which is a bad request', async (_, change) => {
    const manifest = { ...api.manifest(30, 1), ...change };
    expect((await api.call('POST', `${ROOT}/import`, { manifest })).status).toBe(400);
  });

  test.each(['-1', '1.5', '9999999999999999999', ''])(
    'with the slot %j, which is a bad request',
    async (since) => {
      expect((await importing(40, 1, since)).body).toMatchObject({ status: 400, field: 'since' });
    },
  );
});

test('a manifest may be larger than other request bodies', async () => {
  const entries = Array.from({ length: 2_000 }, (_, at) => ({
    path: `m/44'/501'/${at}'/7'`,
    address: newAddress(),
  }));
  const manifest = api.keys.manifest(entries);
  expect(JSON.stringify(manifest).length).toBeGreaterThan(128 * 1024);
  const answer = await api.call('POST', `${ROOT}/import`, { manifest });
  expect(answer).toMatchObject({ status: 200, body: { imported: 2_000 } });
});

describe('the warning about a deposit address', () => {
  const warnings = async (address: string): Promise<unknown> =>
    (await api.call('GET', `${ROOT}/${address}`)).body.warnings;

  test('is absent while the address is empty, and while it has the minimum balance of the chain', async () => {
    const [{ address: empty }, { address: funded }] = [api.keys.entry(0), api.keys.entry(1)];
    await api.localnet.airdrop(funded, 2_000_000n);
    api.localnet.controls.produceSlots(4);
    expect(await warnings(empty)).toEqual([]);
    expect(await warnings(funded)).toEqual([]);
  });

  test('is shown when the address was paid and has less than the minimum balance', async () => {
    const { address } = api.keys.entry(2);
    const paid = blocks(START, [inflow(address)]);
    const matched = {
      blocks: paid,
      watchVersion: await api.ledger.watched.version(),
    };
    expect(await api.ledger.scan.commit({ expected: START, ...matched })).toBe('committed');
    expect(await warnings(address)).toEqual([
      {
        code: 'balance_below_minimum',
        message: `${address} has 0 lamports, less than the rent-exempt minimum of 890880 lamports`,
      },
    ]);
  });

  test('reports unreachable nodes, and the API shows the address nevertheless', async () => {
    const { address } = api.keys.entry(0);
    const blind = await api.also({});
    const { status, body } = await api.call('GET', `${ROOT}/${address}`, undefined, blind);
    expect(status).toBe(200);
    expect(body.warnings).toEqual([
      { code: 'balance_unknown', message: expect.stringContaining('SLUICE_RPC_URLS') },
    ]);
  });
});

describe('the token account of a deposit address', () => {
  const accountOf = (mint: string) => api.call('GET', `${ROOT}/${api.keys.entry(0).address}/assets/${mint}`);

  test('is the associated account under the program of the mint, listed or not', async () => {
    const { mint, feeMint } = api.localnet;
    const { address } = api.keys.entry(0);
    for (const [token, program] of [
      [mint.address, TOKEN_PROGRAM],
      [feeMint.address, TOKEN_2022_PROGRAM],
    ] as const) {
      const expected = { address, mint: token, program, tokenAccount: deriveAta(address, token, program) };
      expect((await accountOf(token)).body).toEqual({ ...expected, depositsOn: false });
      expect((await api.call('PUT', `/v1/assets/${token}`, {})).status).toBe(200);
      expect((await accountOf(token)).body).toEqual({ ...expected, depositsOn: true });
    }
  });

  test('needs no node for a listed token; SOL arrives at the address itself', async () => {
    const blind = await api.also({});
    const url = `${ROOT}/${api.keys.entry(0).address}/assets`;
    const token = api.localnet.mint.address;
    expect((await api.call('GET', `${url}/${token}`, undefined, blind)).body.program).toBe(TOKEN_PROGRAM);
    const sol = { program: null, tokenAccount: null, depositsOn: true };
    expect((await api.call('GET', `${url}/SOL`, undefined, blind)).body).toMatchObject(sol);
  });

  test('is refused for an address that is not a mint, and for an address that is not ours', async () => {
    const stranger = Keypair.generate().publicKey.toBase58();
    expect((await accountOf(stranger)).body).toMatchObject({
      status: 409,
      code: 'AssetRejected',
      field: 'mint',
    });
    expect((await api.call('GET', `${ROOT}/${stranger}/assets/SOL`)).status).toBe(404);
    expect((await api.call('GET', `${ROOT}/${stranger}`)).status).toBe(404);
    expect((await api.call('GET', `${ROOT}?userRef=missing`)).status).toBe(404);
  });
});

test.each([
  {},
  { userRef: '' },
  { userRef: 'a b' },
  { userRef: 'x'.repeat(129) },
  { userRef: 'u', extra: 1 },
])('the API names the field of a bad request for an address: %j', async (body) => {
  const answer = await api.call('POST', ROOT, body);
  expect(answer).toMatchObject({ status: 400, body: { code: 'InvalidRequest' } });
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { START } from '../ledger/chain-of-blocks.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';
import { freshDatabase } from '../support/postgres.ts';

const ELSEWHERE = '4uhcVJyU9pJkvQyS88uRDiswHScg5X3hJzxuBxKTrPSY';
let database: Awaited<ReturnType<typeof freshDatabase>>;
let ledger: Ledger;
let localnet: Localnet;

beforeAll(async () => {
  database = await freshDatabase();
  ledger = await openLedger(database.url);
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 2 });
});
afterAll(async () => {
  await localnet?.close();
  await ledger?.close();
  await database?.drop();
});

async function sluice(...args: readonly string[]): Promise<{ json: unknown; code: number | null }> {
  const env = { DATABASE_URL: database.url, SLUICE_RPC_URLS: localnet.rpcUrls.join(',') };
  const ended = await callSluice([...args, '-o', 'json'], { env });
  return { json: jsonOf(ended), code: ended.code };
}

it('sluice refuses a database of another cluster and names both clusters', async () => {
  await ledger.cluster.bind(ELSEWHERE);
  const { json, code } = await sluice('nodes', 'list');
  expect(code).toBe(5);
  const { genesisHash } = json as { genesisHash: string };
  expect(json).toMatchObject({
    ok: false,
    error: { code: 'WrongCluster', message: expect.stringMatching(`${genesisHash}.*${ELSEWHERE}`) },
    database: { genesisHash: ELSEWHERE },
  });
  await ledger.db.deleteFrom('cluster').execute();
  await ledger.cluster.bind(genesisHash);
  expect(await sluice('nodes', 'list')).toMatchObject({
    code: 0,
    json: { ok: true, database: { genesisHash } },
  });
});

it('sluice names a node without the blocks that the scan needs', async () => {
  localnet.controls.produceSlots(40);
  const node = new URL(localnet.rpcUrls[1] ?? '').host;
  await ledger.scan.start({ ...START, slot: 38n, parentSlot: 37n });
  const snapshot = localnet.controls.produceSlot();
  localnet.controls.setFault(1, '*', { kind: 'history-from', slot: snapshot });
  localnet.controls.produceSlots(5);
  const { json } = await sluice('nodes', 'list');
  expect(json).toMatchObject({ warnings: [{ kind: 'node_ledger_gap', node }] });
});

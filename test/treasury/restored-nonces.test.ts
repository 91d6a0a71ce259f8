import { base58, base64 } from '@scure/base';
import { Keypair } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { readAdvanceSubject } from '../../src/domain/settlement-kinds.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { SettlementRow } from '../../src/ledger/settlements/settlements.ts';
import { createMissingRunStarter } from '../../src/settlement/restart-unfinished.ts';
import type { Chain } from '../../src/solana/chain.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { assembleTransaction } from '../../src/solana/tx/transfer.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import {
  AMOUNT,
  NonceFixture,
  type PaidWithdrawal,
  type UnsentAttempt,
} from '../activities/nonce-fixture.ts';
import { resume } from '../ledger/support.ts';
import { freshDatabase } from '../support/postgres.ts';
import { quickChain } from '../support/quick-chain.ts';

const KEY = Keypair.generate();
const HOT = KEY.publicKey.toBase58();
/** More than a blockhash life and the lateness of lists. */
const PAST_THE_END = 320;

const closers: (() => Promise<void>)[] = [];
let localnet: Localnet;
let pool: NodePool;
let chain: Chain;
/** The database after the restore, and what the restore lost. */
let ledger: Ledger;
let fixture: NonceFixture;
let landsLate: PaidWithdrawal;
let neverLands: PaidWithdrawal;
let living: { readonly paid: PaidWithdrawal; readonly signed: UnsentAttempt };
const lostBytes = new Map<string, string>();

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes: 2, hotWallet: HOT });
  closers.push(() => localnet.close());
  pool = await openNodePool(localnet.rpcUrls);
  closers.push(() => pool.close());
  chain = quickChain(pool);
  const clock = setInterval(() => localnet.controls.produceSlot(), 40);
  closers.push(async () => clearInterval(clock));
  const newer = await freshDatabase();
  closers.push(newer.drop);
  const restored = await backedUpAndContinued(newer);
  closers.push(restored.drop);
  ledger = await openLedger(restored.url);
  closers.push(() => ledger.close());
  fixture = await NonceFixture.open({ ledger, chain, key: KEY });
});
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

/** A backup with one account that is free and one with a living attempt; after it, an account and two attempts that it does not know. */
async function backedUpAndContinued({ url, copy }: Awaited<ReturnType<typeof freshDatabase>>) {
  const before = await openLedger(url);
  const first = await NonceFixture.open({ ledger: before, chain, key: KEY });
  await look(before);
  await first.newAccount();
  const paid = await first.withdrawal();
  living = { paid, signed: await first.sign(paid, await first.prepare(paid)) };
  await first.newAccount();
  landsLate = await first.withdrawal();
  neverLands = await first.withdrawal();
  await before.close();
  const backup = await copy();

  const after = await openLedger(url);
  const later = await NonceFixture.open({ ledger: after, chain, key: KEY });
  await later.newAccount();
  for (const lost of [landsLate, neverLands]) {
    const { message, signature } = await later.sign(lost, await later.prepare(lost));
    lostBytes.set(lost.id, assembleTransaction(base64.decode(message), base58.decode(signature)).raw);
  }
  await after.close();
  return backup;
}

/** A check by a process that has just started. */
function look(record: Ledger): Promise<void> {
  return new WalletWatch({ ledger: record, chain, hotWallet: HOT }).check();
}

async function gapEnds(): Promise<void> {
  localnet.controls.produceSlots(PAST_THE_END);
  await look(ledger);
}

/** An operator releases the pause for spends whose rows were lost. */
async function openAlerts(): Promise<readonly (readonly [string, string])[]> {
  const { rows } = await ledger.alerts.list({ open: true, limit: 50 });
  return rows.map(({ kind, subject }) => [kind, subject] as const);
}

async function received({ destination }: PaidWithdrawal): Promise<bigint> {
  return (await chain.accounts([destination])).accounts[0]?.lamports ?? 0n;
}

/** The nonce upkeep that the restart of missing runs starts. */
async function started(): Promise<readonly SettlementRow[]> {
  const settlements: SettlementRow[] = [];
  const runs = {
    running: async () => new Set<string>(),
    lastEnd: async () => 'none' as const,
    start: async () => undefined,
    startSettlement: async (settlement: SettlementRow) => void settlements.push(settlement),
    startBackfill: async () => {
      throw new Error('no backfill is stored');
    },
    runningBackfills: async () => new Map(),
  };
  await createMissingRunStarter({ ledger, runs, kinds: fixture.act.kinds }).startMissingRuns();
  return settlements;
}

/** The best node returns none of the accounts. */
async function neverDroppedByOneNode(requests: readonly SettlementRow[]): Promise<void> {
  const slot = localnet.controls.chain.ledger.tip.slot;
  const result = { context: { slot }, value: [null] };
  localnet.controls.setFault(0, 'getMultipleAccounts', { kind: 'result', result });
  for (const { id } of requests) {
    await fixture.settle(id).catch(() => null);
    expect(await ledger.settlements.get(id)).not.toMatchObject({ status: 'cancelled' });
  }
  localnet.controls.clearFaults();
}

async function send({ id }: PaidWithdrawal): Promise<void> {
  await chain.send(lostBytes.get(id) ?? '');
  localnet.controls.produceSlots(8);
}

describe('a database restored from before attempts with durable nonces', () => {
  it('is untrusted after blockhashes expired: the upkeep finds the lost nonce accounts, and advances their nonces', async () => {
    await look(ledger);
    await gapEnds();
    await gapEnds();
    await resume(ledger);
    expect(await fixture.prepare(neverLands)).toMatchObject({ reason: { code: 'database_restored' } });
    const accounts = await ledger.nonces.list();
    expect(accounts.map(({ position, state }) => [position, state])).toEqual([
      [1, 'leased'],
      [2, 'free'],
      [3, 'unproved'],
    ]);
    const requests = await started();
    const unproved = accounts.slice(1).map(({ address }) => ['nonce-advance', address]);
    const advances = requests.map(({ kind, subjectId }) => [kind, readAdvanceSubject(subjectId).address]);
    expect(advances.toSorted((a, b) => positionOf(a[1]) - positionOf(b[1]))).toEqual(unproved);
    expect(await openAlerts()).toContainEqual(['database_restored', 'sluice']);
    await neverDroppedByOneNode(requests);

    function positionOf(address?: string): number {
      return accounts.find((account) => account.address === address)?.position ?? 0;
    }
  });

  it('waits after the last nonce is used until its use is listed, and then causes no second payment', async () => {
    // The one lost attempt lands before its nonce can be advanced.
    await send(landsLate);
    expect(await received(landsLate)).toBe(AMOUNT);
    const requests = await started();
    const ends = await Promise.all(requests.map(({ id }) => fixture.settle(id)));
    expect(ends.filter((end) => end === null)).toHaveLength(1);
    expect(ends.filter((end) => end?.kind === 'finalized')).toHaveLength(1);
    await look(ledger);
    expect(await started(), 'nothing is to be advanced any more').toEqual([]);
    expect(await ledger.continuity.pulse(), 'the gap continues').toMatchObject({ noncesSettled: true });
    await gapEnds();
    const alerts = await openAlerts();
    expect(alerts.filter(([kind]) => kind === 'maybe_paid')).toEqual([['maybe_paid', landsLate.id]]);
    expect(alerts).not.toContainEqual(['database_restored', 'sluice']);
    await resume(ledger);
  });

  it('causes one payment, by a new attempt, for a lost attempt whose nonce was used', async () => {
    const again = await fixture.sign(neverLands, await fixture.preparedWhenFree(neverLands));
    await send(neverLands);
    expect(await received(neverLands)).toBe(0n);
    expect((await fixture.land(again)).kind).toBe('finalized');
    await send(neverLands);
    expect(await received(neverLands)).toBe(AMOUNT);
    const stopped = { reason: { code: 'maybe_paid' } };
    await expect.poll(() => fixture.prepare(landsLate), { timeout: 30_000 }).toMatchObject(stopped);
    expect(await received(landsLate)).toBe(AMOUNT);
  });

  it('keeps the nonce of the attempt that it has', async () => {
    expect((await fixture.land(living.signed)).kind).toBe('finalized');
    expect(await received(living.paid)).toBe(AMOUNT);
  });
});

describe('a database without durable nonces', () => {
  it('is trusted again without a wait for nonces', async () => {
    const database = await freshDatabase();
    closers.push(database.drop);
    const before = await openLedger(database.url);
    const key = Keypair.generate();
    const watch = (record: Ledger) =>
      new WalletWatch({ ledger: record, chain, hotWallet: key.publicKey.toBase58() }).check();
    await watch(before);
    await before.close();
    const { url, drop } = await database.copy();
    closers.push(drop);
    const restored = await openLedger(url);
    closers.push(() => restored.close());
    await watch(restored);
    localnet.controls.produceSlots(PAST_THE_END);
    await watch(restored);
    expect(await restored.continuity.pulse()).toBeNull();
  });

  it('ignores the end of an earlier gap from a backup that was made in it', async () => {
    const database = await freshDatabase();
    closers.push(database.drop);
    const before = await openLedger(database.url);
    await before.continuity.pulse();
    await before.continuity.quarantine(1n, null);
    await before.db.updateTable('continuity').set({ identity: 'another' }).execute();
    expect(await before.continuity.pulse()).toMatchObject({ quarantineHeight: 1n });
    await before.close();
    const { url, drop } = await database.copy();
    closers.push(drop);
    const restored = await openLedger(url);
    closers.push(() => restored.close());
    expect(await restored.continuity.pulse()).toMatchObject({ quarantineHeight: null });
    await restored.continuity.endGap(1n);
    expect(await restored.continuity.pulse()).not.toBeNull();
  });
});

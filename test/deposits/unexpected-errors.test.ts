import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { isOperational } from '../../src/deposits/scan/failure-alerts.ts';
import { tipOrNull } from '../../src/deposits/scan/report.ts';
import { type Defects, SideTasks } from '../../src/deposits/scan/side-loop.ts';
import { createDepositScan } from '../../src/deposits/scan/tail.ts';
import { DomainError } from '../../src/domain/errors.ts';
import type { ScanStatus } from '../../src/domain/scan.ts';
import { NodeFault, RpcError } from '../../src/solana/rpc/errors.ts';
import { runActivity } from '../support/activity.ts';
import { auditIn, openAlertsIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';
import { hasState, scanUntil, setStandstillStart } from './scan-steps.ts';

const fixture = useScanFixture();

async function stateOf(wallet: string): Promise<string | undefined> {
  return (await fixture.depositsOf(wallet))[0]?.state;
}

async function openAlerts(): Promise<readonly { kind: string; subject: string }[]> {
  const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
  return rows.map(({ kind, subject }) => ({ kind, subject }));
}

async function isAlarmed(reason: RegExp): Promise<boolean> {
  const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
  return rows.some(({ message }) => reason.test(message));
}

function isStillFor(status: ScanStatus, reason: RegExp): boolean {
  return 'reason' in status && reason.test(status.reason);
}

async function newBlocks(): Promise<string> {
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, 9_000_000n);
  fixture.finalize();
  return wallet;
}

describe('a step that fails by a defect', () => {
  const note = /^unexpected error, probably a bug in Sluice: TypeError: boom; it is retried/;

  it('is retried, reported, and raised as an alert after a minute, until it succeeds', async () => {
    await fixture.scanAll(fixture.scanner());
    await newBlocks();
    const deps = fixture.deps();
    const match = vi.spyOn(deps.matcher, 'match').mockRejectedValue(new TypeError('boom'));
    expect(await scanUntil(deps, hasState('waiting'))).toMatchObject({
      state: 'waiting',
      reason: expect.stringMatching(note),
    });
    expect(await openAlerts()).toEqual([]);
    await setStandstillStart(fixture.ledger, new Date(Date.now() - 120_000));
    expect((await scanUntil(deps, hasState('waiting'))).state).toBe('waiting');
    expect(await openAlerts()).toEqual([{ kind: 'scan_stopped', subject: 'sluice' }]);
    match.mockRestore();
    expect((await scanUntil(deps, hasState('tail'))).state).toBe('tail');
    expect(await openAlerts()).toEqual([]);
  });

  it('beside the scan does not keep a block from being read, and is reported equally', async () => {
    const wallet = await newBlocks();
    const deps = fixture.deps();
    const asked = vi.spyOn(deps.ledger.deposits, 'unconfirmed').mockRejectedValue(new TypeError('boom'));
    const isReported = async (status: ScanStatus): Promise<boolean> =>
      isStillFor(status, /^confirming deposits: .*boom/) &&
      (await stateOf(wallet)) !== undefined &&
      (await isAlarmed(/confirming deposits/));
    // Longer than a step on a slow machine: a scan that waits for its block raises the same alert, and closes it.
    expect((await scanUntil({ ...deps, slowMs: 3_000 }, isReported)).state).toBe('waiting');
    expect(await stateOf(wallet)).toBe('pending');
    expect(await openAlerts()).toEqual([{ kind: 'scan_stopped', subject: 'sluice' }]);
    asked.mockRestore();
    await scanUntil(deps, async () => (await stateOf(wallet)) === 'final');
    expect([await stateOf(wallet), await openAlerts()]).toEqual(['final', []]);
  });

  it('beside the scan raises an alert also where each turn is shorter than the wait for an alert', async () => {
    const deps = fixture.deps();
    const asked = vi.spyOn(deps.ledger.deposits, 'unconfirmed').mockImplementation(async () => {
      await sleep(100);
      throw new TypeError('boom');
    });
    const scan = createDepositScan({ ...deps, pollMs: 20, slowMs: 2_000 });
    for (let turn = 0; turn < 20 && (await openAlerts()).length === 0; turn += 1)
      await runActivity(() => scan.scanTail({ seconds: 1 }));
    expect(await openAlerts()).toEqual([{ kind: 'scan_stopped', subject: 'sluice' }]);
    asked.mockRestore();
    expect((await scanUntil(deps, hasState('tail'))).state).toBe('tail');
    expect(await openAlerts()).toEqual([]);
  });

  it('beside the scan is known in the next turn, also where the end of the turn cancels a step', async () => {
    const end = new AbortController();
    const defects: Defects = new Map([['confirming deposits', 'boom']]);
    const beside = new SideTasks(fixture.ledger, 0, defects, end.signal);
    await beside.run('confirming deposits', async () => end.abort());
    expect([...defects.keys()]).toEqual(['confirming deposits']);
  });

  it('that keeps the alerts is reported in the status, as no alert can report it', async () => {
    const deps = fixture.deps();
    const kept = vi.spyOn(deps.ledger.alerts, 'syncOpen').mockRejectedValue(new TypeError('boom'));
    expect(await scanUntil(deps, hasState('waiting'))).toMatchObject({
      state: 'waiting',
      reason: expect.stringMatching(/^keeping alerts: .*boom/),
    });
    kept.mockRestore();
    expect((await scanUntil(deps, hasState('tail'))).state).toBe('tail');
  });
});

it('a defect that hides the status at the end of a turn fails the turn', async () => {
  const deps = fixture.deps();
  const read = vi.spyOn(deps.ledger.scanStatus, 'read').mockRejectedValue(new TypeError('boom'));
  const scan = createDepositScan({ ...deps, pollMs: 20 });
  const turn = (): Promise<ScanStatus | null> => runActivity(() => scan.scanTail({ seconds: 0.1 }));
  await expect(turn()).rejects.toThrow('boom');
  read.mockRejectedValue(Object.assign(new Error('no database'), { code: 'ECONNREFUSED' }));
  expect(await turn()).toBeNull();
  read.mockRestore();
});

it('a defect that hides the finalized slot is logged, and a node error is not', async () => {
  const logged: unknown[] = [];
  const logger = new DefaultLogger('ERROR', ({ meta }) => logged.push(meta?.['error']));
  const environment = new MockActivityEnvironment({}, { logger });
  const tipAfter = (error: Error): Promise<bigint | null> => {
    vi.spyOn(fixture.pool, 'most').mockRejectedValueOnce(error);
    return environment.run(() => tipOrNull(fixture.pool));
  };
  expect(await tipAfter(new NodeFault('node', 'does not answer'))).toBeNull();
  expect(logged).toEqual([]);
  const defect = new TypeError('boom');
  expect(await tipAfter(defect)).toBeNull();
  expect(logged).toEqual([defect]);
});

it('a defect is classified by the class of the error, not by its message', () => {
  const sayings = ['unexpected error, probably a bug in Sluice', 'boom'];
  for (const said of sayings) {
    expect(isOperational(new DomainError('NodeFault', said))).toBe(true);
    expect(isOperational(new RpcError({ code: -32015, message: said }, 'node', 'getBlock'))).toBe(true);
    expect(isOperational(Object.assign(new Error(said), { code: 'ECONNREFUSED' }))).toBe(true);
    expect(isOperational(new TypeError(said))).toBe(false);
    expect(isOperational(said)).toBe(false);
  }
});

describe('an audit that fails by a defect', () => {
  /** The database refuses every deposit to this wallet while `work` runs. */
  async function refused(wallet: string, work: () => Promise<void>): Promise<void> {
    const { db } = fixture.ledger;
    await sql`create function refuse() returns trigger language plpgsql as
      $$ begin raise check_violation using message = 'boom'; end $$`.execute(db);
    await sql`create trigger refuse before insert on deposit for each row
      when (new.wallet = ${sql.lit(wallet)}) execute function refuse()`.execute(db);
    try {
      await work();
    } finally {
      await sql`drop function refuse() cascade`.execute(db);
    }
  }

  it('leaves that one address unread, with an alert, until it succeeds', async () => {
    await fixture.scanAll(fixture.scanner());
    const [bad, good] = [newAddress(), newAddress()];
    for (const wallet of [bad, good]) await fixture.localnet.airdrop(wallet, 9_000_000n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    await fixture.ledger.addresses.import([bad, good].map((address) => ({ address, path: `m/${address}` })));
    const to = `${(await fixture.ledger.scan.cursor())?.slot}`;
    const audit = (address: string) =>
      auditIn(fixture, { address, from: '1', to, repair: true, cause: 'operator' });
    await refused(bad, async () => {
      expect([await audit(bad), await audit(good)]).toMatchObject([{ unread: 1 }, { unread: 0 }]);
      expect(await openAlertsIn(fixture, 'audit_incomplete')).toEqual([bad]);
      expect([await stateOf(bad), await stateOf(good)]).toEqual([undefined, 'pending']);
    });
    expect(await audit(bad)).toMatchObject({ unread: 0 });
    expect(await openAlertsIn(fixture, 'audit_incomplete')).toEqual([]);
    expect(await stateOf(bad)).toBe('pending');
  });
});

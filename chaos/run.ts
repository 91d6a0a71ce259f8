import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readBooks } from '../devkit/localstack/books.ts';
import { type ChainPayment, paymentsOnChain } from '../devkit/localstack/chain-truth.ts';
import type { ManagedProcess } from '../devkit/localstack/process.ts';
import { type Stack, startStack } from '../devkit/localstack/stack.ts';
import { SluiceClient } from '../src/client/client.ts';
import type { Alarm } from '../src/domain/alerts.ts';
import { alertFindings } from './alerts.ts';
import { type Audit, audit } from './audit.ts';
import { drawDemand, type PlannedWithdrawal, place } from './demand.ts';
import type { DepositAudit } from './deposits/audit.ts';
import { drawDeposits, type PlannedDeposit } from './deposits/plan.ts';
import { DepositRun } from './deposits/run.ts';
import { FAULT_KINDS, type FaultName, faultNames, isNodeLane } from './kinds.ts';
import { openMarket } from './market.ts';
import { apartFrom, makeNonces } from './nonces.ts';
import { readOutcomes } from './outcomes.ts';
import type { PaymentAudit } from './payments/audit.ts';
import { PaymentRun, SALES_SETTINGS } from './payments/run.ts';
import { chaosEnvironment } from './processes.ts';
import { drawSchedule, type Injection } from './schedule.ts';
import { type Field, strike } from './strikes.ts';
import { Supervisor } from './supervisor.ts';
import { retryWhileUnavailable } from './unavailable.ts';
import { wantedBy } from './wanted.ts';

export interface ChaosPlan {
  readonly seed: number;
  readonly withdrawals: number;
  /** Number of deposits that must be credited; 0 runs without deposits and without faults of the scan. */
  readonly deposits: number;
  /** Number of sales through the gateway; 0 runs without the gateway. */
  readonly payments: number;
  /** Durable nonce accounts that give withdrawals their lifetime; 0: blockhashes do. */
  readonly nonces: number;
  /** Injection stops then; as much again is left to drain. */
  readonly minutes: number;
}

/** The injected faults and the results of a run. */
export interface ChaosReport extends Audit {
  /** How often each was injected. */
  readonly faults: FaultCounts;
  /** How often the stack met it: answers spoilt, processes ended, sessions cut, transactions taken back. */
  readonly met: FaultCounts;
  /** Where there were some. */
  readonly deposits?: DepositAudit;
  /** Where something was sold. */
  readonly payments?: PaymentAudit;
}

/** Of the kinds that were drawn. */
type FaultCounts = Readonly<Partial<Record<FaultName, number>>>;

const NODES = 3;
const SLOT_MS = 100;
const FINALITY_LAG = 16;
/** In a shorter run, the stack might not meet every fault. */
const LONG_ENOUGH_MINUTES = 5;
const INTO_THE_CUT_MS = 500;

/** Starts a stack, makes withdrawals while the scheduled faults are injected, then compares the database with the blocks. */
export async function runChaos(plan: ChaosPlan, say: (line: string) => void): Promise<ChaosReport> {
  const dir = mkdtempSync(join(memoryOrDisk(), 'sluice-chaos-'));
  const clockFile = join(dir, 'clock');
  writeFileSync(clockFile, '0');
  const selling = plan.payments > 0 ? await PaymentRun.open(plan) : null;
  const stack = await startStack({
    stateDir: '.sluice/chaos',
    ui: false,
    slotMs: SLOT_MS,
    finalityLag: FINALITY_LAG,
    nodes: NODES,
    dbFile: join(dir, 'temporal.sqlite'),
    ...(selling === null ? {} : { sales: selling.sales }),
    env: {
      ...process.env,
      ...chaosEnvironment(clockFile),
      ...(selling === null ? {} : SALES_SETTINGS),
      ...(plan.nonces > 0 ? { SLUICE_LIFETIME: 'nonce' } : {}),
      ...(plan.deposits > 0 ? { SLUICE_ANNOUNCE_CONFIRMED: 'true' } : {}),
    },
    say: (line) => say(`  ${line}`),
  });
  try {
    return await survive({ stack, selling, plan, say }, clockFile);
  } finally {
    await stack.close();
    await selling?.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function survive(
  started: Pick<Drive, 'stack' | 'selling' | 'plan' | 'say'>,
  clockFile: string,
): Promise<ChaosReport> {
  const { stack, plan, say } = started;
  const limit = new AbortController();
  setMaxListeners(0, limit.signal);
  const deposits = plan.deposits > 0 ? await DepositRun.open(stack, limit.signal) : null;
  try {
    const nonces = await makeNonces(stack, plan.nonces);
    const field = await fieldOf(stack, clockFile, deposits, say);
    return await drive({ ...started, field, deposits, nonces, limit });
  } finally {
    limit.abort();
    await deposits?.close();
  }
}

/** What is there before the withdrawals are drawn. */
type ReadyField = Omit<Field, 'market' | 'orders'>;

interface Drive {
  readonly stack: Stack;
  readonly field: ReadyField;
  readonly deposits: DepositRun | null;
  readonly selling: PaymentRun | null;
  /** Addresses of the nonce accounts that were made before. */
  readonly nonces: readonly string[];
  readonly plan: ChaosPlan;
  /** Aborted when whatever still waits has waited long enough. */
  readonly limit: AbortController;
  readonly say: (line: string) => void;
}

async function drive(driven: Drive): Promise<ChaosReport> {
  const { stack, field, deposits, selling, plan, limit, say } = driven;
  const schedule = drawSchedule({ ...plan, nodes: NODES });
  const demand = { ...plan, run: Date.now().toString(36), wanted: wantedBy(schedule) };
  const market = await openMarket(stack);
  const orders = drawDemand(demand, market);
  const supervising = field.supervisor.run(limit.signal);
  const startMs = performance.now();
  const timer = setTimeout(() => limit.abort(), plan.minutes * 2 * 60_000);
  const paying = payAll(stack, orders, startMs, limit.signal);
  const depositing = deposits?.run(paymentsOf(plan, schedule), startMs);
  const buying = selling?.run(stack, startMs, limit.signal);
  const { faults, met } = await inject({ ...field, market, orders }, schedule, startMs, say);
  const down = await field.supervisor.end(limit.signal);
  await supervising;
  say('all faults are healed; waiting for what is not finalized yet');
  const wrong = [
    ...down.map((name) => `${name} did not come up again`),
    ...(await paying),
    ...((await depositing) ?? []),
    ...(plan.minutes < LONG_ENOUGH_MINUTES ? [] : unmetFaults(met)),
  ];
  await buying;
  await selling?.restart(stack, limit.signal);
  if (selling !== null) say(selling.summary);
  clearTimeout(timer);
  return { ...(await judgeAll(driven, orders, wrong)), faults, met };
}

/** The report without its faults. */
async function judgeAll(
  { stack, deposits, selling, nonces }: Drive,
  orders: readonly PlannedWithdrawal[],
  wrong: readonly string[],
): Promise<Omit<ChaosReport, 'faults' | 'met'>> {
  const { report, alerts, payments } = await retryWhileUnavailable(() => judge(stack, orders, nonces, wrong));
  const judged = deposits === null ? null : await retryWhileUnavailable(() => deposits.judge());
  const sold = selling === null ? null : await retryWhileUnavailable(() => selling.judge(stack));
  const alarms = alertFindings(alerts, { arrivals: judged?.arrivals ?? [], payments });
  return {
    ...report,
    findings: [...report.findings, ...alarms, ...(judged?.findings ?? []), ...(sold?.findings ?? [])],
    ...(judged === null ? {} : { deposits: judged.deposits }),
    ...(sold === null ? {} : { payments: sold.payments }),
  };
}

/** The moments at which workers are cut off are those at which new users come in. */
function paymentsOf(plan: ChaosPlan, schedule: readonly Injection[]): readonly PlannedDeposit[] {
  const cuts = schedule.filter(({ kind }) => kind === 'scanner_cut');
  return drawDeposits({ ...plan, newcomersAtMs: cuts.map(({ atMs }) => atMs + INTO_THE_CUT_MS) });
}

/** Returns one line for each withdrawal that the API refused or did not report. */
async function payAll(
  { apiUrl: baseUrl, apiKey }: Stack,
  orders: readonly PlannedWithdrawal[],
  startMs: number,
  end: AbortSignal,
): Promise<readonly string[]> {
  const sluice = new SluiceClient({ baseUrl, apiKey });
  const refused = await Promise.all(orders.map((order) => payOne(sluice, order, startMs, end)));
  return refused.flatMap((one) => (one === null ? [] : [one]));
}

/** Null, or why the API did not accept or return it. The audit reports what is not final at the end, with the reason. */
async function payOne(
  sluice: SluiceClient,
  order: PlannedWithdrawal,
  startMs: number,
  end: AbortSignal,
): Promise<string | null> {
  try {
    await place(sluice, order, startMs, end);
    await sluice.waitForFinal(order.terms.id, { signal: end, pollMs: 1_000 });
    return null;
  } catch (error) {
    return end.aborted ? null : `${order.terms.id}: ${String(error)}`;
  }
}

/** The faults that the stack never met: the run proves nothing about them. */
function unmetFaults(met: FaultCounts): readonly string[] {
  return Object.entries(met).flatMap(([name, times]) =>
    times === 0 ? [`${name} was injected, and nothing met it`] : [],
  );
}

async function inject(
  field: Field,
  schedule: readonly Injection[],
  startMs: number,
  say: (line: string) => void,
): Promise<{ readonly faults: FaultCounts; readonly met: FaultCounts }> {
  const names = faultNames({ deposits: field.exchange !== null, payments: field.x402 !== null });
  const none = () => Object.fromEntries(names.map((name) => [name, 0])) as Record<FaultName, number>;
  const [faults, met] = [none(), none()];
  const failed = new AbortController();
  setMaxListeners(0, failed.signal);
  const injectOne = async (injection: Injection): Promise<void> => {
    await until(startMs + injection.atMs, failed.signal);
    const heal = await retryWhileUnavailable(() => strike(field, injection));
    faults[injection.kind] += 1;
    say(describe(injection));
    await until(startMs + injection.untilMs, failed.signal);
    met[injection.kind] += await retryWhileUnavailable(heal);
  };
  try {
    await Promise.all(schedule.map(injectOne));
  } finally {
    failed.abort();
  }
  return { faults, met };
}

function describe({ kind, atMs, untilMs, node }: Injection): string {
  const seconds = ((untilMs - atMs) / 1_000).toFixed(0);
  const where = isNodeLane(FAULT_KINDS[kind].lane) ? ` at node ${node + 1}` : '';
  return `${(atMs / 1_000).toFixed(0).padStart(4)} s  ${kind}${where} for ${seconds} s`;
}

/** Called when no transaction can land any more. The blocks decide the result. */
async function judge(
  stack: Stack,
  orders: readonly PlannedWithdrawal[],
  nonces: readonly string[],
  wrong: readonly string[],
): Promise<{
  readonly report: Audit;
  readonly alerts: readonly Alarm[];
  readonly payments: readonly ChainPayment[];
}> {
  const books = await readBooks(stack);
  const terms = orders.map((order) => order.terms);
  const [{ outcomes, alerts }, sent] = await Promise.all([
    readOutcomes(stack, terms),
    paymentsOnChain(stack.rpcUrls[0] ?? '', stack.hotWallet),
  ]);
  const { payments, wrong: making } = apartFrom(nonces, sent);
  const alarms = [...wrong, ...making];
  return { report: audit({ outcomes, payments, books, alarms }), alerts, payments };
}

async function fieldOf(
  stack: Stack,
  clockFile: string,
  deposits: DepositRun | null,
  say: (line: string) => void,
): Promise<ReadyField> {
  const second = await stack.addWorker('worker-2');
  const temporal = serverOf(stack.temporalServer, 'TEMPORAL_ADDRESS');
  const postgres = serverOf(stack.postgres, 'DATABASE_URL');
  const { worker, signer, api, x402, databaseUrl, rpcUrls } = stack;
  const supervisor = new Supervisor(
    [temporal, postgres, signer, worker, second, api, ...(x402 === null ? [] : [x402])],
    say,
  );
  return {
    supervisor,
    workers: [worker, second],
    signer,
    api,
    x402,
    temporal,
    postgres,
    databaseUrl,
    rpcUrls,
    clockFile,
    hotWallet: stack.hotWallet,
    exchange: deposits?.exchange ?? null,
  };
}

function serverOf(server: ManagedProcess | null, setting: string): ManagedProcess {
  if (server === null) throw new Error(`chaos stops and starts every server: unset ${setting}`);
  return server;
}

/** A memory file system where there is one: on a slow disk the server's SQLite file is what a run would measure. */
function memoryOrDisk(): string {
  const memory = '/dev/shm';
  try {
    return statfsSync(memory).bavail > 0 ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

async function until(momentMs: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, momentMs - performance.now()), undefined, { signal });
}

import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SluiceClient } from '../src/client/client.ts';
import { newWallet } from '../src/localnet/wallet.ts';
import { readBooks } from '../src/localstack/books.ts';
import { mintsOf } from '../src/localstack/chain.ts';
import { paymentsOnChain } from '../src/localstack/chain-truth.ts';
import type { ManagedProcess } from '../src/localstack/process.ts';
import { rpc } from '../src/localstack/rpc.ts';
import { type Stack, startStack } from '../src/localstack/stack.ts';
import { type Audit, audit } from './audit.ts';
import { drawDemand, type Market, type Order, place } from './demand.ts';
import { FAULT_KINDS, FAULT_NAMES, type FaultName, isNodeLane } from './kinds.ts';
import { readOutcomes } from './outcomes.ts';
import { drawSchedule, type Injection } from './schedule.ts';
import { type Field, strike } from './strikes.ts';
import { Supervisor } from './supervisor.ts';

export interface ChaosPlan {
  readonly seed: number;
  readonly withdrawals: number;
  /** Injection stops then; as much again is left to drain. */
  readonly minutes: number;
}

/** What a run did and what is true after it. */
export interface ChaosReport extends Audit {
  /** How often each was injected. */
  readonly faults: FaultCounts;
  /** How often the stack met it: answers spoilt, processes ended, sessions cut, transactions taken back. */
  readonly met: FaultCounts;
}

type FaultCounts = Readonly<Record<FaultName, number>>;

const NODES = 3;
const SLOT_MS = 100;
const FINALITY_LAG = 16;
const OLD_WALLETS = 6;

/** Starts a stack, drives withdrawals through the schedule of faults, and judges what the blocks show afterwards. */
export async function runChaos(plan: ChaosPlan, say: (line: string) => void): Promise<ChaosReport> {
  const dir = mkdtempSync(join(memoryOrDisk(), 'sluice-chaos-'));
  const clockFile = join(dir, 'clock');
  writeFileSync(clockFile, '0');
  const stack = await startStack({
    stateDir: '.sluice/chaos',
    ui: false,
    slotMs: SLOT_MS,
    finalityLag: FINALITY_LAG,
    nodes: NODES,
    dbFile: join(dir, 'temporal.sqlite'),
    env: { ...process.env, ...clockEnvironment(clockFile) },
    say: (line) => say(`  ${line}`),
  });
  try {
    return await survive(stack, clockFile, plan, say);
  } finally {
    await stack.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function survive(
  stack: Stack,
  clockFile: string,
  plan: ChaosPlan,
  say: (line: string) => void,
): Promise<ChaosReport> {
  const field = await fieldOf(stack, clockFile, say);
  const schedule = drawSchedule({ ...plan, nodes: NODES });
  const orders = drawDemand({ ...plan, run: Date.now().toString(36) }, await marketOf(stack));
  const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
  const supervising = field.supervisor.run();
  const startMs = performance.now();
  const end = AbortSignal.timeout(plan.minutes * 2 * 60_000);
  setMaxListeners(0, end);
  const paying = orders.map((order) => payOne(sluice, order, startMs, end));
  const { faults, met } = await inject(field, schedule, startMs, say);
  const down = await field.supervisor.end(end);
  await supervising;
  say('all faults are healed; waiting for what is not finalized yet');
  const refused = (await Promise.all(paying)).flatMap((one) => (one === null ? [] : [one]));
  const wrong = [
    ...down.map((name) => `${name} did not come up again`),
    ...refused,
    ...FAULT_NAMES.filter((name) => met[name] === 0).map(
      (name) => `${name} was injected, and nothing met it`,
    ),
  ];
  return { ...(await judge(stack, orders, wrong)), faults, met };
}

/** Null, or why the API would not take or tell it; what is not final at the end is told by the audit, with its reason. */
async function payOne(
  sluice: SluiceClient,
  order: Order,
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

async function inject(
  field: Field,
  schedule: readonly Injection[],
  startMs: number,
  say: (line: string) => void,
): Promise<{ readonly faults: FaultCounts; readonly met: FaultCounts }> {
  const none = () => Object.fromEntries(FAULT_NAMES.map((name) => [name, 0])) as Record<FaultName, number>;
  const [faults, met] = [none(), none()];
  await Promise.all(
    schedule.map(async (injection) => {
      await until(startMs + injection.atMs);
      const heal = await strike(field, injection);
      faults[injection.kind] += 1;
      say(describe(injection));
      await until(startMs + injection.untilMs);
      met[injection.kind] += await heal();
    }),
  );
  return { faults, met };
}

function describe({ kind, atMs, untilMs, node }: Injection): string {
  const seconds = ((untilMs - atMs) / 1_000).toFixed(0);
  const where = isNodeLane(FAULT_KINDS[kind].lane) ? ` at node ${node + 1}` : '';
  return `${(atMs / 1_000).toFixed(0).padStart(4)} s  ${kind}${where} for ${seconds} s`;
}

/** Once nothing can land any more: then the blocks have the last word. */
async function judge(stack: Stack, orders: readonly Order[], wrong: readonly string[]): Promise<Audit> {
  const books = await readBooks(stack);
  const terms = orders.map((order) => order.terms);
  const [{ outcomes, alarms }, payments] = await Promise.all([
    readOutcomes(stack, terms),
    paymentsOnChain(stack.rpcUrls[0] ?? '', stack.hotWallet),
  ]);
  return audit({ outcomes, payments, books, alarms: [...wrong, ...alarms] });
}

async function fieldOf(stack: Stack, clockFile: string, say: (line: string) => void): Promise<Field> {
  const second = await stack.addWorker('worker-2');
  const temporal = own(stack.temporalServer, 'TEMPORAL_ADDRESS');
  const postgres = own(stack.postgres, 'DATABASE_URL');
  const { worker, signer, api, databaseUrl, rpcUrls } = stack;
  const supervisor = new Supervisor([temporal, postgres, signer, worker, second, api], say);
  return {
    supervisor,
    workers: [worker, second],
    signer,
    api,
    temporal,
    postgres,
    databaseUrl,
    rpcUrls,
    clockFile,
  };
}

function own(server: ManagedProcess | null, setting: string): ManagedProcess {
  if (server === null) throw new Error(`chaos stops and starts every server: unset ${setting}`);
  return server;
}

async function marketOf(stack: Stack): Promise<Market> {
  const wallets = Array.from({ length: OLD_WALLETS }, () => newWallet().address);
  const url = stack.rpcUrls[0] ?? '';
  for (const wallet of wallets) await rpc(url, 'requestAirdrop', [wallet, 10_000_000]);
  const { mint, feeMint } = mintsOf(stack.chainInfo);
  if (mint === undefined || feeMint === undefined)
    throw new Error('chaos needs its own chain: unset SLUICE_RPC_URLS');
  return { mint, feeMint, wallets };
}

function clockEnvironment(clockFile: string): NodeJS.ProcessEnv {
  const shim = new URL('./clock.mjs', import.meta.url).href;
  return {
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${shim}`.trim(),
    CHAOS_CLOCK_FILE: clockFile,
  };
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

async function until(momentMs: number): Promise<void> {
  await sleep(Math.max(0, momentMs - performance.now()));
}

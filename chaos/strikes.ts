import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { ManagedProcess } from '../devkit/localstack/process.ts';
import { rpc } from '../devkit/localstack/rpc.ts';
import type { PlannedWithdrawal } from './demand.ts';
import type { Exchange } from './deposits/exchange.ts';
import { type Heal, repeatedly } from './heal.ts';
import { stopTokens } from './issuer.ts';
import { FAULT_KINDS, type FaultName, isNodeLane, SEND_FAULTS } from './kinds.ts';
import { NODE_FAULTS, type NodeFaultName } from './node-faults.ts';
import { lie } from './node-lies.ts';
import { DRIVER_APPLICATION, WORKER_APPLICATION } from './processes.ts';
import type { Injection } from './schedule.ts';
import { fundTokenAccounts } from './stranger.ts';
import type { Supervisor } from './supervisor.ts';
import type { ChaosMarket } from './wanted.ts';

/** The targets of faults. */
export interface Field {
  readonly supervisor: Supervisor;
  readonly workers: readonly ManagedProcess[];
  readonly signer: ManagedProcess;
  readonly api: ManagedProcess;
  /** Settles payments and signs as fee payer; null where nothing is sold. */
  readonly x402: ManagedProcess | null;
  readonly temporal: ManagedProcess;
  readonly postgres: ManagedProcess;
  readonly databaseUrl: string;
  /** Node 0 takes the commands for all nodes of the chain. */
  readonly rpcUrls: readonly string[];
  readonly clockFile: string;
  readonly hotWallet: string;
  readonly market: ChaosMarket;
  /** All withdrawals of the run. */
  readonly orders: readonly PlannedWithdrawal[];
  /** The receiver of the deposits; null in a run without deposits and scan faults. */
  readonly exchange: Exchange | null;
}

type Strike = (field: Field, injection: Injection) => Promise<Heal>;

/** Carries out a fault; the answer heals it. Throws without an effect where a service that it needs is unavailable. */
export function strike(field: Field, injection: Injection): Promise<Heal> {
  const { kind } = injection;
  return isOneNodeFault(kind) ? strikeNode(field, kind, injection) : STRIKES[kind](field, injection);
}

const STRIKES: Readonly<Record<Exclude<FaultName, OneNodeFault>, Strike>> = {
  kill_worker: ({ supervisor, workers }, { draw }) => kill(supervisor, workers[draw % workers.length]),
  kill_signer: ({ supervisor, signer }) => kill(supervisor, signer),
  kill_x402: ({ supervisor, x402 }) => kill(supervisor, x402),
  kill_sales: async ({ supervisor, api, x402 }) =>
    together(await Promise.all([api, x402].map((victim) => kill(supervisor, victim)))),
  kill_api: ({ supervisor, api }) => kill(supervisor, api),
  temporal_restart: ({ supervisor, temporal }) => supervisor.strike(temporal, (server) => server.stop()),
  database_restart: ({ supervisor, postgres }, { draw }) =>
    supervisor.strike(postgres, (server) => (draw % 2 === 0 ? server.stop() : server.kill('SIGKILL'))),
  database_cut: (field) => cutSessions(field, IN_TRANSACTION),
  clock_jump: async ({ clockFile }, { draw }) => {
    writeFileSync(clockFile, String((draw % 2 === 0 ? 1 : -1) * (60_000 + (draw % 3_600_000))));
    return () => {
      writeFileSync(clockFile, '0');
      return 1;
    };
  },
  fork: (field, { draw }) => forkUntilMet(field, 1 + (draw % 3)),
  deep_fork: (field, { draw }) => forkUntilMet(field, 3 + (draw % 10)),
  kill_scanner: killScanner,
  scanner_cut: cutWorkersOff,
  short_lists: (field, injection) => everyNode(field, injection, 'short_lists'),
  null_blocks: (field, injection) => eachNodeInTurn(field, injection, 'null_blocks'),
  skipped_blocks: (field, injection) => eachNodeInTurn(field, injection, 'skipped_blocks'),
  false_block: (field, injection) => eachNodeInTurn(field, injection, 'false_block'),
  rescan: readTwice,
  all_nodes_down: (field, injection) => everyNode(field, injection, 'no_answer'),
  node_false_account: (field, injection) => lie(liarsOf(field), 'node_false_account', injection),
  node_false_price: (field, injection) => lie(liarsOf(field), 'node_false_price', injection),
  node_false_status: (field, injection) => lie(liarsOf(field), 'node_false_status', injection),
  stranger_funds_ata: fundTokenAccounts,
  issuer_freezes: stopTokens,
  expiry: (field, injection) => everyNode(field, injection, 'send_dropped'),
};

function liarsOf({ rpcUrls, orders }: Field) {
  return { rpcUrls, terms: orders.map(({ terms }) => terms) };
}

async function kill(supervisor: Supervisor, victim: ManagedProcess | null | undefined): Promise<Heal> {
  return victim === null || victim === undefined
    ? () => 0
    : supervisor.strike(victim, (one) => one.kill('SIGKILL'));
}

/** Ends several faults as one. */
function together(heals: readonly Heal[]): Heal {
  return async () => {
    const met = await Promise.all(heals.map(async (heal) => heal()));
    return met.reduce((sum, one) => sum + one, 0);
  };
}

const CUT_EVERY_MS = 15;
/** Workers that come back from another fault open no transaction for so long, at most. */
const CUT_PATIENCE_MS = 15_000;
/** On a busy machine a payment that was asked for at the start of a fault is sent so much later than its end, at most. */
const SEND_PATIENCE_MS = 15_000;
const LOOK_EVERY_MS = 40;
const ASK_EVERY_MS = 300;
const MOVE_EVERY_MS = 1_500;

/**
 * Ends, again and again, the sessions of which `condition` is true, and continues for a while if there was none yet. PostgreSQL may
 * restart meanwhile.
 */
async function cutSessions({ databaseUrl }: Field, condition: string): Promise<Heal> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1, application_name: DRIVER_APPLICATION });
  // The pool opens another connection for the next query.
  pool.on('error', () => undefined);
  await pool.query('select 1');
  const heal = repeatedly(
    CUT_EVERY_MS,
    async () => (await pool.query(`${CUT} ${condition}`)).rowCount ?? 0,
    CUT_PATIENCE_MS,
  );
  return async () => {
    const met = await heal();
    await pool.end();
    return met;
  };
}

const CUT = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name <> '${DRIVER_APPLICATION}' and`;
const IN_TRANSACTION = 'xact_start is not null';
const OF_WORKERS = `application_name = '${WORKER_APPLICATION}'`;

/** Waits until the newest blocks hold a transaction, and takes them back. */
async function forkUntilMet({ rpcUrls }: Field, blocks: number): Promise<Heal> {
  const [url = ''] = rpcUrls;
  const before = await rpc<number>(url, 'localnet_undone', []);
  let met = 0;
  return repeatedly(LOOK_EVERY_MS, async () => {
    if (met > 0 || (await rpc<number>(url, 'localnet_atStake', [blocks])) === 0) return 0;
    await rpc(url, 'localnet_fork', [blocks]);
    met = (await rpc<number>(url, 'localnet_undone', [])) - before;
    return met;
  });
}

/** Kills the worker that reads blocks as soon as Temporal knows which one that is, and keeps it down. */
async function killScanner(field: Field): Promise<Heal> {
  let revive: Heal | undefined;
  const heal = repeatedly(ASK_EVERY_MS, async () => {
    if (revive !== undefined) return 0;
    const scanner = await exchangeOf(field).scanner(field.workers);
    if (scanner !== undefined) revive = await kill(field.supervisor, scanner);
    return 0;
  });
  return async () => {
    await heal();
    return revive?.() ?? 0;
  };
}

/** Counts only where an address was given out meanwhile: that is the race which is to be seen. */
async function cutWorkersOff(field: Field): Promise<Heal> {
  const exchange = exchangeOf(field);
  const before = exchange.given;
  const heal = await cutSessions(field, OF_WORKERS);
  return async () => {
    const given = exchange.given - before;
    const cut = await heal();
    return given > 0 ? cut : 0;
  };
}

/** Has blocks that were committed read again, twice over. */
async function readTwice(field: Field, { draw }: Injection): Promise<Heal> {
  const exchange = exchangeOf(field);
  let orders = 0;
  return repeatedly(ASK_EVERY_MS, async () => {
    if (orders === 2) return 0;
    const ordered = (await exchange.rescan(BigInt(100 + (draw % 400)))) ? 1 : 0;
    orders += ordered;
    return ordered;
  });
}

function exchangeOf({ exchange }: Field): Exchange {
  if (exchange === null) throw new Error('a fault of the scan was drawn, and there are no deposits');
  return exchange;
}

async function strikeNode(field: Field, kind: NodeFaultName, { node, draw }: Injection): Promise<Heal> {
  const [url = ''] = field.rpcUrls;
  const faults = await NODE_FAULTS[kind]({ url: field.rpcUrls[node] ?? '', draw });
  const kinds = new Set(faults.map(({ fault }) => fault.kind));
  const met = async (): Promise<number> => {
    const all = await rpc<Readonly<Record<string, number>>>(url, 'localnet_faultsMet', [node]);
    return [...kinds].reduce((sum, one) => sum + (all[one] ?? 0), 0);
  };
  const before = await met();
  for (const { method, fault } of faults) await rpc(url, 'localnet_setFault', [node, method, fault]);
  const patienceMs = SEND_FAULTS.some((one) => one === kind) ? SEND_PATIENCE_MS : 0;
  return async () => {
    const end = performance.now() + patienceMs;
    while (performance.now() < end && (await met()) === before) await sleep(ASK_EVERY_MS);
    for (const { method } of faults) await rpc(url, 'localnet_clearFaults', [node, method]);
    return (await met()) - before;
  };
}

async function everyNode(field: Field, injection: Injection, kind: NodeFaultName): Promise<Heal> {
  return together(
    await Promise.all(field.rpcUrls.map((_, node) => strikeNode(field, kind, { ...injection, node }))),
  );
}

/** One node at a time, but every one: a scan reads blocks from the node that answers best, which only it knows. */
async function eachNodeInTurn(field: Field, injection: Injection, kind: NodeFaultName): Promise<Heal> {
  let node = injection.draw;
  let heal: Heal = () => 0;
  const moving = repeatedly(MOVE_EVERY_MS, async () => {
    const met = await heal();
    heal = () => 0;
    node = (node + 1) % field.rpcUrls.length;
    heal = await strikeNode(field, kind, { ...injection, node });
    return met;
  });
  return async () => (await moving()) + (await heal());
}

/** A kind of {@link NODE_FAULTS} that strikes one node, drawn from the seed. */
type OneNodeFault = Exclude<NodeFaultName, 'short_lists' | 'null_blocks' | 'skipped_blocks' | 'false_block'>;

function isOneNodeFault(kind: FaultName): kind is OneNodeFault {
  return kind in NODE_FAULTS && isNodeLane(FAULT_KINDS[kind].lane);
}

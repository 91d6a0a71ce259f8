import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { ManagedProcess } from '../src/localstack/process.ts';
import { rpc } from '../src/localstack/rpc.ts';
import type { FaultName } from './kinds.ts';
import { NODE_FAULTS, type NodeFaultName } from './node-faults.ts';
import type { Injection } from './schedule.ts';
import type { Supervisor } from './supervisor.ts';

/** What faults act on. */
export interface Field {
  readonly supervisor: Supervisor;
  readonly workers: readonly ManagedProcess[];
  readonly signer: ManagedProcess;
  readonly api: ManagedProcess;
  readonly temporal: ManagedProcess;
  readonly postgres: ManagedProcess;
  readonly databaseUrl: string;
  /** Node 0 takes the commands for all nodes of the chain. */
  readonly rpcUrls: readonly string[];
  readonly clockFile: string;
}

/** Undoes a fault; tells how often it was met, for a fault that nobody met shows nothing. */
export type Heal = () => Promise<number> | number;

type Strike = (field: Field, injection: Injection) => Promise<Heal>;

/** Carries out a fault; the answer heals it. */
export function strike(field: Field, injection: Injection): Promise<Heal> {
  const { kind } = injection;
  return isNodeFault(kind) ? strikeNode(field, kind, injection) : STRIKES[kind](field, injection);
}

const STRIKES: Readonly<Record<Exclude<FaultName, NodeFaultName>, Strike>> = {
  'kill-worker': ({ supervisor, workers }, { draw }) => kill(supervisor, workers[draw % workers.length]),
  'kill-signer': ({ supervisor, signer }) => kill(supervisor, signer),
  'kill-api': ({ supervisor, api }) => kill(supervisor, api),
  'temporal-restart': ({ supervisor, temporal }) => supervisor.strike(temporal, (server) => server.stop()),
  'database-restart': ({ supervisor, postgres }, { draw }) =>
    supervisor.strike(postgres, (server) => (draw % 2 === 0 ? server.stop() : server.kill('SIGKILL'))),
  'database-cut': cutConnections,
  'clock-jump': async ({ clockFile }, { draw }) => {
    writeFileSync(clockFile, String((draw % 2 === 0 ? 1 : -1) * (60_000 + (draw % 3_600_000))));
    return () => {
      writeFileSync(clockFile, '0');
      return 1;
    };
  },
  fork: forkUntilMet,
  'all-nodes-down': (field, injection) => everyNode(field, injection, 'no-answer'),
  expiry: (field, injection) => everyNode(field, injection, 'send-dropped'),
};

async function kill(supervisor: Supervisor, process: ManagedProcess | undefined): Promise<Heal> {
  return process === undefined ? () => 0 : supervisor.strike(process, (one) => one.kill('SIGKILL'));
}

const CUT_EVERY_MS = 15;
const FORK_EVERY_MS = 400;

/** Ends, again and again, every session that is inside a transaction. */
async function cutConnections({ databaseUrl }: Field): Promise<Heal> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  const heal = repeatedly(CUT_EVERY_MS, async () => (await client.query(CUT)).rowCount ?? 0);
  return async () => {
    const met = await heal();
    await client.end();
    return met;
  };
}

const CUT = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`;

/** Takes back a few blocks at a time until a transaction went with them. */
async function forkUntilMet({ rpcUrls }: Field, { draw }: Injection): Promise<Heal> {
  const [url = ''] = rpcUrls;
  const before = await rpc<number>(url, 'localnet_undone', []);
  let met = 0;
  return repeatedly(FORK_EVERY_MS, async () => {
    if (met > 0) return 0;
    await rpc(url, 'localnet_fork', [1 + (draw % 3)]);
    met = (await rpc<number>(url, 'localnet_undone', [])) - before;
    return met;
  });
}

/** Does it on a rhythm until it is healed, and adds up what it says; a try that fails counts nothing. */
function repeatedly(everyMs: number, act: () => Promise<number>): Heal {
  const stop = new AbortController();
  const acting = (async () => {
    let met = 0;
    while (!stop.signal.aborted) {
      met += await act().catch(() => 0);
      await sleep(everyMs);
    }
    return met;
  })();
  return () => {
    stop.abort();
    return acting;
  };
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
  return async () => {
    await rpc(url, 'localnet_clearFaults', [node]);
    return (await met()) - before;
  };
}

async function everyNode(field: Field, injection: Injection, kind: NodeFaultName): Promise<Heal> {
  const heals = await Promise.all(
    field.rpcUrls.map((_, node) => strikeNode(field, kind, { ...injection, node })),
  );
  return async () => {
    const met = await Promise.all(heals.map(async (heal) => heal()));
    return met.reduce((sum, one) => sum + one, 0);
  };
}

function isNodeFault(kind: FaultName): kind is NodeFaultName {
  return kind in NODE_FAULTS;
}

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

/** Undoes a fault. */
export type Heal = () => Promise<void> | void;

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
    return () => writeFileSync(clockFile, '0');
  },
  fork: async ({ rpcUrls }, { draw }) => {
    await control(rpcUrls, 'localnet_fork', [1 + (draw % 4)]);
    return () => undefined;
  },
  'all-nodes-down': (field, injection) => everyNode(field, injection, 'no-answer'),
  expiry: (field, injection) => everyNode(field, injection, 'send-dropped'),
};

async function kill(supervisor: Supervisor, process: ManagedProcess | undefined): Promise<Heal> {
  return process === undefined ? () => undefined : supervisor.strike(process, (one) => one.kill('SIGKILL'));
}

const CUT_EVERY_MS = 150;

/** Ends, again and again, every session that is inside a transaction. */
async function cutConnections({ databaseUrl }: Field): Promise<Heal> {
  const stop = new AbortController();
  const cutting = (async () => {
    while (!stop.signal.aborted) {
      await cutOnce(databaseUrl).catch(() => undefined);
      await sleep(CUT_EVERY_MS);
    }
  })();
  return async () => {
    stop.abort();
    await cutting;
  };
}

async function cutOnce(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null',
    );
  } finally {
    await client.end();
  }
}

async function strikeNode(field: Field, kind: NodeFaultName, { node, draw }: Injection): Promise<Heal> {
  const faults = await NODE_FAULTS[kind]({ url: field.rpcUrls[node] ?? '', draw });
  for (const { method, fault } of faults)
    await control(field.rpcUrls, 'localnet_setFault', [node, method, fault]);
  return () => control(field.rpcUrls, 'localnet_clearFaults', [node]);
}

async function everyNode(field: Field, injection: Injection, kind: NodeFaultName): Promise<Heal> {
  const heals = await Promise.all(
    field.rpcUrls.map((_, node) => strikeNode(field, kind, { ...injection, node })),
  );
  return async () => {
    await Promise.all(heals.map(async (heal) => heal()));
  };
}

async function control(
  rpcUrls: readonly string[],
  method: string,
  params: readonly unknown[],
): Promise<void> {
  await rpc<unknown>(rpcUrls[0] ?? '', method, params);
}

function isNodeFault(kind: FaultName): kind is NodeFaultName {
  return kind in NODE_FAULTS;
}

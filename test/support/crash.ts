import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../devkit/localstack/ports.ts';
import { ManagedProcess } from '../../devkit/localstack/process.ts';
import { nodeProgram } from '../../devkit/localstack/program.ts';
import type { Stack } from '../../devkit/localstack/stack.ts';
import type { WithdrawalTerms } from '../../src/domain/withdrawal.ts';
import { COMPILED } from './compiled.ts';
import { crashLine } from './crash-log-lines.ts';
import { testEnvironment } from './stack.ts';

/** A process that kills itself at one step of one withdrawal. */
export interface Crashing {
  /** Resolves when it has ended at that step; rejects where it ended anywhere else, or not at all. */
  crashed(): Promise<void>;
  stop(): Promise<void>;
}

/** An API that kills itself, and its URL. */
export interface CrashingApi extends Crashing {
  readonly url: string;
}

const PATIENCE_MS = 90_000;
const always = async (): Promise<boolean> => true;

/** A chain worker in place of the stack's, which must be down: see `crashing-worker.ts`. */
export function startCrashingWorker(stack: Stack, at: string, terms: WithdrawalTerms): Promise<Crashing> {
  return start(
    stack,
    new URL('./crashing-worker.ts', import.meta.url),
    at,
    terms,
    chainEnvironment(stack),
    always,
  );
}

/** A chain worker in place of the stack's, which must be down, with calls that throw at these points by withdrawal: see `failing-steps.ts`. */
export function startFailingWorker(
  stack: Stack,
  points: Readonly<Record<string, readonly string[]>>,
): Promise<ManagedProcess> {
  const env = { ...chainEnvironment(stack), STEPS_FAIL: JSON.stringify(points) };
  return startProcess(stack, new URL('./crashing-worker.ts', import.meta.url), 'failing', env, always);
}

/** A signer in place of the stack's, which must be down: see `crashing-signer.ts`. */
export function startCrashingSigner(stack: Stack, at: string, terms: WithdrawalTerms): Promise<Crashing> {
  const env = { SLUICE_SIGNER_KEY_FILE: stack.signerKeyFile };
  return start(stack, new URL('./crashing-signer.ts', import.meta.url), at, terms, env, always);
}

/** A signer in place of the stack's that answers only after `delayMs`: see `slow-signer.ts`. */
export function startSlowSigner(stack: Stack, delayMs: number): Promise<ManagedProcess> {
  const env = { SLUICE_SIGNER_KEY_FILE: stack.signerKeyFile, SLOW_MS: String(delayMs) };
  return startProcess(stack, new URL('./slow-signer.ts', import.meta.url), 'late', env, always);
}

/** One more API beside the stack's: see `crashing-api.ts`. */
export async function startCrashingApi(
  stack: Stack,
  at: string,
  terms: WithdrawalTerms,
): Promise<CrashingApi> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { ...chainEnvironment(stack), SLUICE_HTTP_PORT: String(port) };
  const answers = (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      () => true,
      () => false,
    );
  return {
    url,
    ...(await start(stack, new URL('./crashing-api.ts', import.meta.url), at, terms, env, answers)),
  };
}

/** The x402 payment at which a process kills itself: its id, and base58 bytes of its message that no other payment has. */
interface Victim {
  readonly id: string;
  readonly destination: string;
}

/** Only callers of this socket, and the gateways without one, reach the process; empty: workflows settle all payments. */
interface Socket {
  readonly socket: string;
}

/** An x402 worker that kills itself: see `crashing-x402.ts`. It is ready when it listens on its socket. */
export function startCrashingX402(
  stack: Stack,
  at: string,
  victim: Victim,
  { socket }: Socket,
): Promise<Crashing> {
  const env = { ...salesEnvironment(stack, socket), ...stack.sales?.keys };
  const ready = socket === '' ? always : () => isListening(socket);
  return start(stack, new URL('./crashing-x402.ts', import.meta.url), at, victim, env, ready);
}

/** One more gateway beside the stack's: see `crashing-gateway.ts`. */
export async function startCrashingGateway(
  stack: Stack,
  at: string,
  victim: Victim,
  { socket }: Socket,
): Promise<CrashingApi> {
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  // Quotes are valid at one public URL.
  const address = { SLUICE_X402_PORT: port, SLUICE_X402_PUBLIC_URL: stack.sales?.gatewayUrl };
  const env = { ...salesEnvironment(stack, socket), ...address };
  const answers = (): Promise<boolean> =>
    fetch(url).then(
      () => true,
      () => false,
    );
  const program = new URL('./crashing-gateway.ts', import.meta.url);
  return { url, ...(await start(stack, program, at, victim, env, answers)) };
}

async function start(
  stack: Stack,
  program: URL,
  at: string,
  { id, destination }: Victim,
  settings: NodeJS.ProcessEnv,
  ready: () => Promise<boolean>,
): Promise<Crashing> {
  const env = { ...settings, CRASH_AT: at, CRASH_ID: id, CRASH_WALLET: destination };
  const suffix = id.split('/').at(-1) ?? id;
  const process = await startProcess(stack, program, suffix, env, ready);
  return { crashed: () => endOf(process, at), stop: () => process.stop() };
}

async function startProcess(
  stack: Stack,
  program: URL,
  suffix: string,
  settings: NodeJS.ProcessEnv,
  ready: () => Promise<boolean>,
): Promise<ManagedProcess> {
  const name = `${basename(program.pathname, '.ts')}-${suffix}`;
  const process = new ManagedProcess({
    name,
    ...nodeProgram(program, [], COMPILED),
    env: {
      ...testEnvironment(),
      TEMPORAL_ADDRESS: stack.temporal.address,
      TEMPORAL_NAMESPACE: stack.temporal.namespace,
      ...settings,
    },
    logFile: join(stack.logDir, `${name}.log`),
    ready,
  });
  await process.start();
  return process;
}

async function endOf(process: ManagedProcess, at: string): Promise<void> {
  const patience = new AbortController();
  const late = sleep(PATIENCE_MS, undefined, { signal: patience.signal }).then(
    () => process.kill('SIGKILL'),
    () => undefined,
  );
  await process.exited;
  patience.abort();
  await late;
  if (process.tail(1) !== crashLine(at))
    throw new Error(`${process.name} did not end at "${at}":\n${process.tail()}`);
}

function salesEnvironment(stack: Stack, socket: string): NodeJS.ProcessEnv {
  return { ...chainEnvironment(stack), ...stack.sales?.env, SLUICE_X402_SOCKET: socket };
}

function isListening(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket, () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
}

function chainEnvironment(stack: Stack): NodeJS.ProcessEnv {
  return {
    DATABASE_URL: stack.databaseUrl,
    SLUICE_RPC_URLS: stack.rpcUrls.join(','),
    SLUICE_HOT_WALLET: stack.hotWallet,
  };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '../../src/platform/shutdown.ts';
import { guard, unguard } from './watchdog.ts';

const READY_TIMEOUT_MS = 60_000;

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The complete environment of the child. Default: the environment of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Receives stdout and stderr; an existing file is appended to. */
  readonly logFile: string;
  readonly ready: () => Promise<boolean>;
  /** Default 60,000. */
  readonly readyTimeoutMs?: number;
  /** Default SIGTERM. SIGKILL follows after `stopTimeoutMs`. */
  readonly stopSignal?: NodeJS.Signals;
  /** Default 10,000. */
  readonly stopTimeoutMs?: number;
  readonly uid?: number;
  readonly gid?: number;
}

/** A child process in a process group of its own, so that Ctrl-C reaches only this program, which then stops the child. */
export class ManagedProcess {
  readonly name: string;
  readonly #spec: ProcessSpec;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #stopping: Promise<void> | undefined;
  #ending = '';

  constructor(spec: ProcessSpec) {
    this.name = spec.name;
    this.#spec = spec;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get running(): boolean {
    return this.#child !== undefined;
  }

  get logFile(): string {
    return this.#spec.logFile;
  }

  /** How the last run ended: a signal, an exit code, or the error of its start. Empty if no run has ended. */
  get ending(): string {
    return this.#ending;
  }

  /** Resolves when the current run has ended; at once if the process does not run. */
  get exited(): Promise<void> {
    return this.#exited;
  }

  /**
   * Starts the process unless it runs, and waits until it is ready. Throws, with the end of the log, if the process ends or is not ready
   * in time. If `signal` is aborted, stops the process and throws the signal's reason.
   */
  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#child === undefined) this.#spawn();
    try {
      const throwIfAborted = async (abortSignal: AbortSignal) => {
        await untilAborted(abortSignal);
        throw abortSignal.reason;
      };
      await Promise.race([this.#waitReady(), ...(signal === undefined ? [] : [throwIfAborted(signal)])]);
    } catch (error) {
      if (signal?.aborted) await this.stop();
      throw error;
    }
  }

  async #waitReady(): Promise<void> {
    const deadline = Date.now() + (this.#spec.readyTimeoutMs ?? READY_TIMEOUT_MS);
    while (!(await this.#spec.ready())) {
      if (this.#child === undefined) throw this.#failure(`ended before it was ready (${this.#ending})`);
      if (Date.now() > deadline) {
        await this.kill('SIGKILL');
        throw this.#failure(`was not ready within ${this.#spec.readyTimeoutMs ?? READY_TIMEOUT_MS} ms`);
      }
      await sleep(50);
    }
    if (this.#child === undefined) throw this.#failure(`ended before it was ready (${this.#ending})`);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#signal(signal);
    await this.#exited;
  }

  /** Sends the stop signal, then SIGKILL after the timeout. Concurrent calls share one stop. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    if (this.#child === undefined) return;
    this.#signal(this.#spec.stopSignal ?? 'SIGTERM');
    const timeout = new AbortController();
    const killed = sleep(this.#spec.stopTimeoutMs ?? 10_000, undefined, { signal: timeout.signal }).then(
      () => this.#signal('SIGKILL'),
      () => undefined,
    );
    await this.#exited;
    timeout.abort();
    await killed;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  tail(lines = 15): string {
    try {
      return readFileSync(this.#spec.logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
    } catch {
      return '';
    }
  }

  #spawn(): void {
    const { command, args, env, logFile, uid, gid } = this.#spec;
    mkdirSync(dirname(logFile), { recursive: true });
    const log = openSync(logFile, 'a');
    const child = spawn(command, args, {
      env: env ?? process.env,
      detached: true,
      stdio: ['ignore', log, log],
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
    });
    closeSync(log);
    this.#child = child;
    if (child.pid !== undefined) guard(child.pid, this.#spec.stopSignal ?? 'SIGTERM');
    this.#exited = new Promise((resolve) => {
      const onEnd = (ending: string) => {
        if (child.pid !== undefined) unguard(child.pid);
        this.#child = undefined;
        this.#ending = ending;
        resolve();
      };
      child.once('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`));
      child.once('error', (error) => onEnd(error.message));
    });
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      this.#child?.kill(signal);
    }
  }

  #failure(predicate: string): Error {
    return new Error(`${this.name} ${predicate}. Its log ${this.#spec.logFile} ends with:\n${this.tail()}`);
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '../../src/platform/shutdown.ts';
import { guard, unguard } from './watchdog.ts';

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the child. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** stdout and stderr are appended here. */
  readonly logFile: string;
  readonly ready: () => Promise<boolean>;
  /** Default 60,000. */
  readonly readyTimeoutMs?: number;
  /** The polite signal. Default SIGTERM; SIGKILL follows after `stopTimeoutMs`. */
  readonly stopSignal?: NodeJS.Signals;
  /** Default 10,000. */
  readonly stopTimeoutMs?: number;
  readonly uid?: number;
  readonly gid?: number;
}

/** One child process in a process group of its own, so that a Ctrl-C reaches only this program, which then stops it in order. */
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

  /** How the last run ended: a signal, an exit code, or why it could not start. Empty before any has. */
  get ending(): string {
    return this.#ending;
  }

  /** Settles when the present run has ended, at once when there is none. */
  get exited(): Promise<void> {
    return this.#exited;
  }

  /**
   * Starts it and waits until it is ready. Does nothing while it runs. Throws, with the end of the log, when it ends or stays silent;
   * where `signal` is aborted first, it is stopped, and the reason thrown.
   */
  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#child === undefined) this.#spawn();
    try {
      const interruption = async (over: AbortSignal) => {
        await untilAborted(over);
        throw over.reason;
      };
      await Promise.race([this.#waitReady(), ...(signal === undefined ? [] : [interruption(signal)])]);
    } catch (error) {
      if (signal?.aborted) await this.stop();
      throw error;
    }
  }

  async #waitReady(): Promise<void> {
    const deadline = Date.now() + (this.#spec.readyTimeoutMs ?? 60_000);
    while (!(await this.#spec.ready())) {
      if (this.#child === undefined) throw this.#failure(`ended before it was ready (${this.#ending})`);
      if (Date.now() > deadline) {
        await this.kill('SIGKILL');
        throw this.#failure('was not ready in time');
      }
      await sleep(50);
    }
    if (this.#child === undefined) throw this.#failure(`ended before it was ready (${this.#ending})`);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#signal(signal);
    await this.#exited;
  }

  /** Asks politely, once however many wait for it, then kills. Does nothing when it does not run. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    if (this.#child === undefined) return;
    this.#signal(this.#spec.stopSignal ?? 'SIGTERM');
    const patience = new AbortController();
    const late = sleep(this.#spec.stopTimeoutMs ?? 10_000, undefined, { signal: patience.signal }).then(
      () => this.#signal('SIGKILL'),
      () => undefined,
    );
    await this.#exited;
    patience.abort();
    await late;
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
      const ended = (how: string) => {
        if (child.pid !== undefined) unguard(child.pid);
        this.#child = undefined;
        this.#ending = how;
        resolve();
      };
      child.once('exit', (code, signal) => ended(signal ?? `exit code ${code}`));
      child.once('error', (error) => ended(error.message));
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

  #failure(what: string): Error {
    return new Error(`${this.name} ${what}. Its log ${this.#spec.logFile} ends with:\n${this.tail()}`);
  }
}

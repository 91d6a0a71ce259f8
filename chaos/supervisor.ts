import { setTimeout as sleep } from 'node:timers/promises';
import type { ManagedProcess } from '../src/localstack/process.ts';

const LOOK_EVERY_MS = 250;

/** Starts again what has ended, as a service manager would; a fault keeps a process down for as long as it lasts. */
export class Supervisor {
  readonly #processes: readonly ManagedProcess[];
  readonly #say: (line: string) => void;
  readonly #keptDown = new Set<ManagedProcess>();
  readonly #starting = new Set<ManagedProcess>();
  #ended = false;

  constructor(processes: readonly ManagedProcess[], say: (line: string) => void) {
    this.#processes = processes;
    this.#say = say;
  }

  /** Ends the process by `end` and keeps it down until the returned function is called. */
  async strike(
    process: ManagedProcess,
    end: (process: ManagedProcess) => Promise<void>,
  ): Promise<() => void> {
    this.#keptDown.add(process);
    await end(process);
    return () => void this.#keptDown.delete(process);
  }

  async run(): Promise<void> {
    while (!this.#ended) {
      for (const process of this.#processes) this.#look(process);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Resolves when every process is up; nothing is started again after that. */
  async end(): Promise<void> {
    this.#keptDown.clear();
    while (this.#starting.size > 0 || this.#processes.some((process) => !process.running))
      await sleep(LOOK_EVERY_MS);
    this.#ended = true;
  }

  #look(process: ManagedProcess): void {
    if (process.running || this.#keptDown.has(process) || this.#starting.has(process)) return;
    this.#starting.add(process);
    process
      .start()
      // A service that needs another one which is down ends again: the next look starts it anew.
      .catch((error: Error) => this.#say(`${process.name} did not start: ${error.message.split('\n')[0]}`))
      .finally(() => this.#starting.delete(process));
  }
}

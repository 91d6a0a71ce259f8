import { setTimeout as sleep } from 'node:timers/promises';
import type { ManagedProcess } from '../devkit/localstack/process.ts';

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

  /** Ends the process by `end` and keeps it down until the returned function is called, which returns how many it ended: 0 or 1. */
  async strike(
    process: ManagedProcess,
    end: (process: ManagedProcess) => Promise<void>,
  ): Promise<() => number> {
    this.#keptDown.add(process);
    const met = process.running ? 1 : 0;
    await end(process);
    return () => {
      this.#keptDown.delete(process);
      return met;
    };
  }

  /** Settles after {@link end}, or at `end`. */
  async run(end: AbortSignal): Promise<void> {
    while (!this.#ended && !end.aborted) {
      for (const process of this.#processes) this.#look(process);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Stops all restarts as soon as every process is running, or `end` is aborted. Returns the names of the processes that are not running. */
  async end(end: AbortSignal): Promise<readonly string[]> {
    this.#keptDown.clear();
    while (!end.aborted && (this.#starting.size > 0 || this.#down().length > 0)) await sleep(LOOK_EVERY_MS);
    this.#ended = true;
    return this.#down();
  }

  #down(): readonly string[] {
    return this.#processes.filter((process) => !process.running).map(({ name }) => name);
  }

  #look(process: ManagedProcess): void {
    if (process.running || this.#keptDown.has(process) || this.#starting.has(process)) return;
    this.#starting.add(process);
    process
      .start()
      // A service whose dependency is down ends again; the next iteration restarts it.
      .catch((error: Error) => this.#say(`${firstSentence(error.message)}; its log is ${process.logFile}`))
      .finally(() => this.#starting.delete(process));
  }
}

/** Without the end of the log, which a message about a start has in its next lines. */
function firstSentence(message: string): string {
  return message.split(/\. Its log |\n/, 1)[0] ?? message;
}

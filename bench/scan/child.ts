import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { nodeProgram } from '../../src/localstack/program.ts';

type Reply<A> = { readonly answer: A } | { readonly failure: string };

/** A process of its own that answers questions, one after the other; it ends with this one. */
export class Child<Q extends object, A> {
  readonly #process: ChildProcess;

  /** Starts `program`, which calls {@link answerQuestions}. */
  constructor(program: URL, args: readonly string[] = []) {
    const { command, args: all } = nodeProgram(program, args);
    // Both of its outputs go to stderr: stdout is for the result.
    this.#process = spawn(command, all, { stdio: ['ignore', 2, 2, 'ipc'] });
  }

  /** Throws what it failed with, or that it has ended. */
  async ask(question: Q): Promise<A> {
    const ended = new AbortController();
    const child = this.#process;
    child.send(question);
    try {
      const [reply] = (await Promise.race([
        once(child, 'message', { signal: ended.signal }),
        once(child, 'exit', { signal: ended.signal }).then(() => [{ failure: 'the process has ended' }]),
      ])) as [Reply<A>];
      if ('failure' in reply) throw new Error(reply.failure);
      return reply.answer;
    } finally {
      ended.abort();
    }
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const gone = once(this.#process, 'exit');
    this.#process.disconnect();
    await gone;
  }
}

/** Answers what the parent process asks, and ends when it is gone. */
export function answerQuestions<Q, A>(answer: (question: Q) => Promise<A>): void {
  process.on('message', (question) => {
    answer(question as Q).then(
      (answered) => process.send?.({ answer: answered }),
      (error: unknown) =>
        process.send?.({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.once('disconnect', () => process.exit());
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { nodeProgram } from '../../devkit/localstack/program.ts';

type ChildReply<A> = 'ready' | { readonly answer: A } | { readonly failure: string };

/** A process of its own that answers questions, one after the other; it ends with this one. */
export class Child<Q extends object, A> {
  readonly #process: ChildProcess;
  readonly #ready: Promise<unknown>;

  /** Starts `program`, which calls {@link answerQuestions}. */
  constructor(program: URL) {
    const { command, args } = nodeProgram(program);
    // The child's stdout goes to stderr, because stdout is for the result.
    this.#process = spawn(command, args, { stdio: ['ignore', 2, 2, 'ipc'] });
    // A message to a process that does not listen yet would be lost.
    this.#ready = this.#next();
    this.#ready.catch(() => undefined);
  }

  /** Throws the error of the child, or an error if the child has ended. */
  async ask(question: Q): Promise<A> {
    await this.#ready;
    this.#process.send(question);
    const reply = await this.#next();
    if (reply === 'ready') throw new Error('the process is ready twice');
    if ('failure' in reply) throw new Error(reply.failure);
    return reply.answer;
  }

  async #next(): Promise<ChildReply<A>> {
    const received = new AbortController();
    const { signal } = received;
    const message = once(this.#process, 'message', { signal });
    const end = once(this.#process, 'exit', { signal });
    end.catch(() => undefined);
    message.catch(() => undefined);
    try {
      const [reply] = await Promise.race([message, end.then(() => [{ failure: 'the process has ended' }])]);
      return reply as ChildReply<A>;
    } finally {
      received.abort();
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

/** Answers the questions of the parent process; ends this process when the parent has ended. */
export function answerQuestions<Q, A>(answer: (question: Q) => Promise<A>): void {
  process.on('message', (question) => {
    answer(question as Q).then(
      (answered) => process.send?.({ answer: answered }),
      (error: unknown) =>
        process.send?.({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.once('disconnect', () => process.exit());
  process.send?.('ready');
}

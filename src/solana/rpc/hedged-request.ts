import type { SolanaNode } from './node.ts';
import type { Member } from './pooled-node.ts';

/** How the question to one node has ended. */
export interface Heard<T> {
  readonly member: Member;
  readonly result: PromiseSettledResult<T>;
}

/** How many more answers it takes at least, by what was heard so far; 0 where that is enough. */
export type Wanting<T> = (heard: readonly Heard<T>[]) => number;

interface Question {
  readonly member: Member;
  readonly order: number;
  /** How many were late when it was asked. */
  readonly round: number;
  timer: NodeJS.Timeout | undefined;
  late: boolean;
}

/** One that has not answered by then is late, where another one may be asked. */
const PATIENCE_MS = 1_000;
const MOST_SPARE = 10;
const SPARE_FOR_EACH = 0.1;

/** Questions that may be asked because a node is late: one for each ten others, so that nodes which are all slow are not asked twice. */
export class SpareQuestions {
  #left = MOST_SPARE;

  earn(): void {
    this.#left = Math.min(MOST_SPARE, this.#left + SPARE_FOR_EACH);
  }

  /** True where there was one. */
  take(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/**
 * A question to no more nodes than it takes, in the order given: to the next where one fails, or does not suffice, or is late and the next
 * one stands ready. One that is late and overtaken so is asked last for a while.
 */
export class Inquiry<T> {
  readonly #left: Member[];
  readonly #ask: (node: SolanaNode) => Promise<T>;
  readonly #wanting: Wanting<T>;
  readonly #spare: SpareQuestions;
  readonly #open = new Set<Question>();
  readonly #heard: (Heard<T> & Pick<Question, 'order'>)[] = [];
  #asked = 0;
  #round = 0;
  #end: ((heard: readonly Heard<T>[]) => void) | null = null;

  constructor(
    members: readonly Member[],
    ask: (node: SolanaNode) => Promise<T>,
    wanting: Wanting<T>,
    spare: SpareQuestions,
  ) {
    this.#left = [...members];
    this.#ask = ask;
    this.#wanting = wanting;
    this.#spare = spare;
  }

  /** What was heard until it sufficed, or until all had answered, in the order in which they were asked. Never throws. */
  run(): Promise<readonly Heard<T>[]> {
    return new Promise((resolve) => {
      this.#end = resolve;
      this.#goOn();
    });
  }

  #goOn(): void {
    if (this.#end === null) return;
    const heard = this.#heard.toSorted((a, b) => a.order - b.order);
    const wanting = this.#wanting(heard);
    while (this.#expected() < wanting && this.#left.length > 0) this.#askNext();
    if (wanting > 0 && this.#open.size > 0) return;
    for (const { timer } of this.#open) clearTimeout(timer);
    this.#end(heard);
    this.#end = null;
  }

  #expected(): number {
    return [...this.#open].filter(({ late }) => !late).length;
  }

  #askNext(): void {
    const member = this.#left.shift();
    if (member === undefined) return;
    const question: Question = {
      member,
      order: this.#asked,
      round: this.#round,
      timer: undefined,
      late: false,
    };
    this.#asked += 1;
    this.#open.add(question);
    this.#lookLater(question);
    if (this.#round === 0) this.#spare.earn();
    void Promise.allSettled([member.ask(this.#ask)]).then(([result]) => this.#hear(question, result));
  }

  #lookLater(question: Question): void {
    // A process that was busy itself finds answers to read first.
    question.timer = setTimeout(() => setImmediate(() => this.#note(question)), PATIENCE_MS);
  }

  /** One is late. That of a node which has proved slower than others, as one that drips has, costs no spare question. */
  #note(question: Question): void {
    if (this.#end === null || !this.#open.has(question)) return;
    const [next] = this.#left;
    if (next === undefined) return;
    const mayAsk = next.demoted === null && (question.member.demoted !== null || this.#spare.take());
    if (!mayAsk) return this.#lookLater(question);
    question.late = true;
    this.#round += 1;
    this.#goOn();
  }

  #hear(question: Question, result: PromiseSettledResult<T>): void {
    const { member, order, round, timer } = question;
    clearTimeout(timer);
    this.#open.delete(question);
    this.#heard.push({ member, result, order });
    if (result.status === 'fulfilled' && this.#end !== null)
      for (const other of this.#open) if (other.late && other.round < round) other.member.overtaken();
    this.#goOn();
  }
}

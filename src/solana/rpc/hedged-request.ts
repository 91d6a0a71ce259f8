import type { SolanaNode } from './node.ts';
import type { Member } from './pooled-node.ts';
import type { NodeResult } from './quorum.ts';

export interface MemberResult<T> extends NodeResult<T> {
  readonly member: Member;
}

/** How many more answers are needed at least, given the results so far; 0 if they suffice. */
export type Wanting<T> = (heard: readonly MemberResult<T>[]) => number;

interface Question {
  readonly member: Member;
  readonly order: number;
  /** How many requests were late when this one started. */
  readonly round: number;
  timer: NodeJS.Timeout | undefined;
  late: boolean;
}

/** After this time a request is late, and another node may be asked. */
const PATIENCE_MS = 1_000;
const MOST_SPARE = 10;
const SPARE_FOR_EACH = 0.1;

/** Permits for requests because of a late node: one for ten others, so that slow nodes are not all asked twice. */
export class SpareQuestions {
  #left = MOST_SPARE;

  earn(): void {
    this.#left = Math.min(MOST_SPARE, this.#left + SPARE_FOR_EACH);
  }

  /** Takes one permit for a hedged request. Returns false if none is left. */
  take(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/**
 * Asks no more nodes than needed, in the order given. The next node is asked if one fails, is not sufficient, or is
 * late while the next one is ready. A late node that another one overtakes is asked last for a while.
 */
export class HedgedRequest<T> {
  readonly #left: Member[];
  readonly #ask: (node: SolanaNode) => Promise<T>;
  readonly #wanting: Wanting<T>;
  readonly #spare: SpareQuestions;
  readonly #open = new Set<Question>();
  readonly #heard: (MemberResult<T> & Pick<Question, 'order'>)[] = [];
  #asked = 0;
  #round = 0;
  #end: ((heard: readonly MemberResult<T>[]) => void) | null = null;

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

  /** The results up to the sufficient one, or all, in the order of the requests. Never throws. */
  run(): Promise<readonly MemberResult<T>[]> {
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
    // If this process was busy, answers may have arrived already: they are read first.
    question.timer = setTimeout(() => setImmediate(() => this.#note(question)), PATIENCE_MS);
  }

  /** Marks a request as late. If its node is demoted already, as a slow one is, the extra request needs no permit. */
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
    this.#heard.push({ node: member.node.name, member, result, order });
    if (result.status === 'fulfilled' && this.#end !== null)
      for (const other of this.#open) if (other.late && other.round < round) other.member.overtaken();
    this.#goOn();
  }
}

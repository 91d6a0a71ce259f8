import { chunksOf } from '../domain/chunks.ts';

interface GroupWaiter<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

const MAX_ITEMS = 256;

/**
 * Combines the calls of one turn of the event loop. `run` returns the result of each item; an error rejects all of them.
 * Groups do not wait for each other.
 */
export class Groups<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<(item: Item) => Result>;
  #waiters: GroupWaiter<Item, Result>[] = [];

  constructor(run: (items: readonly Item[]) => Promise<(item: Item) => Result>) {
    this.#run = run;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#waiters.length === 0) setImmediate(() => this.#runAll());
      this.#waiters.push({ item, resolve, reject });
    });
  }

  #runAll(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const group of chunksOf(waiters, MAX_ITEMS)) void this.#runGroup(group);
  }

  async #runGroup(group: readonly GroupWaiter<Item, Result>[]): Promise<void> {
    try {
      const resultOf = await this.#run(group.map(({ item }) => item));
      for (const { item, resolve } of group) resolve(resultOf(item));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}

import pg from 'pg';

/** Executions of a statement from which on it is prepared: the text of a rare one would only occupy memory. */
const MIN_EXECUTIONS = 3;
const MAX_STATEMENTS = 400;

type Query = (query: unknown, values?: unknown, ...rest: unknown[]) => unknown;

/**
 * Prepares repeated statements under a name, so that PostgreSQL parses and plans them once for each connection. A
 * pooler in transaction mode does not keep prepared statements: call this only for direct connections.
 */
export class PreparedStatements {
  readonly #executions = new Map<string, number>();
  readonly #names = new Map<string, string>();
  /** Part of each name. Grows after a migration has changed the result of a prepared statement. */
  #version = 1;

  /** From now on, prepares the repeated statements of this connection. */
  apply(client: pg.ClientBase): void {
    // Read at each call, as on any other client, so that a later override of the class applies.
    const own = pg.Client.prototype as { readonly query: Query };
    const query: Query = (...args) => own.query.call(client, ...args);
    const prepared: Query = (text, values, ...rest) => {
      // PostgreSQL prepares only one command, and a transaction begins with several in one message.
      const isOneCommand = typeof text === 'string' && Array.isArray(values) && !text.includes(';');
      const name = isOneCommand ? this.#nameOf(text) : null;
      if (name === null) return query(text, values, ...rest);
      const result = query({ name, text, values }, ...rest);
      return result instanceof Promise ? result.catch((error: unknown) => this.#rethrow(error)) : result;
    };
    Object.assign(client, { query: prepared });
  }

  #nameOf(text: string): string | null {
    const known = this.#names.get(text);
    if (known !== undefined) return `${known}/${this.#version}`;
    if (this.#executions.size >= 10 * MAX_STATEMENTS) this.#executions.clear();
    const executions = (this.#executions.get(text) ?? 0) + 1;
    this.#executions.set(text, executions);
    if (executions >= MIN_EXECUTIONS && this.#names.size < MAX_STATEMENTS)
      this.#names.set(text, `sluice/${this.#names.size}`);
    return null;
  }

  #rethrow(error: unknown): never {
    if (isPlanOutdated(error)) this.#version += 1;
    throw error;
  }
}

/** True if a migration has changed the columns of a prepared statement. The repeated statement succeeds. */
export function isPlanOutdated(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '0A000' && /cached plan/.test(error.message);
}

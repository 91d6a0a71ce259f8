import type { Kysely, Migration, RawBuilder } from 'kysely';

export function migrationOf(statements: readonly RawBuilder<unknown>[]): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      for (const statement of statements) await statement.execute(db);
    },
  };
}

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Repository } from '../database.ts';

export function newApiKey(): string {
  return `sluice_${randomBytes(32).toString('base64url')}`;
}

/** API keys by name. Only their SHA-256 is stored. */
export class ApiKeys extends Repository {
  /**
   * Stores the hash of `key` under `name`, and replaces an earlier key of that name. With `replace: false` it keeps the earlier key.
   *
   * @returns whether `key` is stored
   */
  async add(name: string, key: string, { replace = true } = {}): Promise<boolean> {
    const hash = sha256(key).toString('hex');
    const stored = await this.db
      .insertInto('apiKey')
      .values({ name, hash })
      .onConflict((conflict) => {
        const sameName = conflict.column('name');
        return replace ? sameName.doUpdateSet({ hash }) : sameName.doNothing();
      })
      .returning('name')
      .execute();
    return stored.length > 0;
  }

  /** The name under which `key` is stored, or null. Compares with every stored hash in constant time. */
  async nameOf(key: string): Promise<string | null> {
    const keyHash = sha256(key);
    const rows = await this.db.selectFrom('apiKey').select(['name', 'hash']).execute();
    const matches = rows.map(({ hash }) => timingSafeEqual(Buffer.from(hash, 'hex'), keyHash));
    return rows[matches.indexOf(true)]?.name ?? null;
  }
}

function sha256(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}

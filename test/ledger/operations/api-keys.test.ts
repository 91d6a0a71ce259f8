import { describe, expect, it } from 'vitest';
import { useLedger } from '../support.ts';

const use = useLedger();

describe('API keys', () => {
  it('are identified by their hash alone, and can be replaced by name', async () => {
    const { apiKeys, db } = use.ledger;
    await apiKeys.add('dev', 'first');
    await apiKeys.add('ops', 'other');
    await apiKeys.add('dev', 'second');
    expect(await Promise.all(['first', 'second', 'other', ''].map((key) => apiKeys.nameOf(key)))).toEqual([
      null,
      'dev',
      'ops',
      null,
    ]);
    expect(JSON.stringify(await db.selectFrom('apiKey').selectAll().execute())).not.toContain('second');
  });

  it('of the facilitator are no keys of the API, and the other way round', async () => {
    const { apiKeys } = use.ledger;
    await apiKeys.add('exchange', 'key of the API');
    await apiKeys.addFacilitatorKey('shop', 'key of the shop');
    expect(await apiKeys.nameOf('key of the shop')).toBeNull();
    expect(await apiKeys.facilitatorKey('key of the API')).toBeNull();
    expect(await apiKeys.facilitatorKey('key of the shop')).toMatchObject({ name: 'shop' });
  });

  it('do not replace a key of the other kind', async () => {
    const { apiKeys } = use.ledger;
    await apiKeys.add('both', 'key of the exchange');
    const refused = { code: 'InvalidRequest', message: expect.stringContaining('both') };
    await expect(apiKeys.addFacilitatorKey('both', 'a later key')).rejects.toMatchObject(refused);
    expect(await apiKeys.nameOf('key of the exchange')).toBe('both');
  });

  it('keep their time of creation where the same key is stored again', async () => {
    const { apiKeys } = use.ledger;
    const createdAt = async () =>
      (await apiKeys.list()).find(({ name }) => name === 'environment')?.createdAt;
    await apiKeys.add('environment', 'a key');
    const first = await createdAt();
    await apiKeys.add('environment', 'a key');
    expect(await createdAt()).toEqual(first);
    await apiKeys.add('environment', 'another key');
    expect(await createdAt()).not.toEqual(first);
  });

  it('are listed with their kind, and are unknown once revoked', async () => {
    const { apiKeys } = use.ledger;
    await apiKeys.add('revoked-api', 'revoked 1');
    await apiKeys.addFacilitatorKey('revoked-shop', 'revoked 2');
    const kinds = (await apiKeys.list()).filter(({ name }) => name.startsWith('revoked-'));
    expect(kinds).toMatchObject([
      { name: 'revoked-api', kind: 'api' },
      { name: 'revoked-shop', kind: 'facilitator' },
    ]);
    for (const { name } of kinds) await apiKeys.revoke(name);
    expect([await apiKeys.nameOf('revoked 1'), await apiKeys.facilitatorKey('revoked 2')]).toEqual([
      null,
      null,
    ]);
    await expect(apiKeys.revoke('revoked-api')).rejects.toMatchObject({ code: 'NotFound' });
  });
});

import { expect, it } from 'vitest';
import { newId, useLedger } from './support.ts';
import { terms } from './terms.ts';

const use = useLedger();

it('an id that many processes reserve at once is new to one of them, and known to all others', async () => {
  for (let round = 0; round < 150; round += 1) {
    const wanted = terms(newId());
    const asked = Array.from({ length: 20 }, () => use.ledger.withdrawals.reserve(wanted));
    const created = (await Promise.all(asked)).filter((one) => one.created);
    expect(created).toHaveLength(1);
  }
});

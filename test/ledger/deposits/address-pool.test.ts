import { expect, it } from 'vitest';
import { AddressPool } from '../../../src/ledger/deposits/address-pool.ts';
import { address, chain, inflow, START } from '../chain-of-blocks.ts';
import { commit, confirmAll, importWallets, useDepositLedgers } from '../deposit-ledger.ts';

const use = useDepositLedgers();
const [ANN, BEN] = [address('ann'), address('ben')];

/** The messages of the open alerts, after a check. */
async function alertsOf(pool: AddressPool): Promise<readonly string[]> {
  await pool.updateAlert();
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 10 });
  return rows.map(({ kind, details }) => `${kind} ${String(details['free'])}`);
}

it('an alert reports that few addresses are left, whatever used them, until there are enough', async () => {
  const pool = new AddressPool(use.ledger, 1);
  expect(await alertsOf(pool)).toEqual([]);
  await importWallets(use.ledger, ANN);
  expect(await alertsOf(pool)).toEqual([]);
  await commit(use.ledger, chain(START, [inflow(ANN)]));
  expect(await alertsOf(pool)).toEqual(['addresses_low 0']);
  await confirmAll(use.ledger);
  await use.ledger.addresses.import([{ address: BEN, path: 'm' }], 40n);
  expect(await alertsOf(pool)).toEqual(['addresses_low 0']);
  await use.ledger.importAudits.markAudited(
    BEN,
    { from: 40n, to: 200n },
    await use.ledger.continuity.databaseId(),
  );
  expect(await alertsOf(pool)).toEqual([]);
});

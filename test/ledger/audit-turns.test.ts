import { expect, it } from 'vitest';
import { startDueAudits } from '../../src/activities/due-audits.ts';
import type { AuditOrder } from '../../src/domain/audit.ts';
import { address } from './chain-of-blocks.ts';
import { useDepositLedgers } from './deposit-ledger.ts';

const use = useDepositLedgers();

it('the audit of every address begins after some rounds, though those of a hundred others never end', async () => {
  const names = Array.from({ length: 150 }, (_, n) => address(`late ${n}`));
  await use.ledger.addresses.import(
    names.map((one) => ({ address: one, path: `m/${one}` })),
    1n,
  );
  const rounds: (string | null)[][] = [];
  const startAudit = async (order: AuditOrder) => void rounds.at(-1)?.push(order.address);
  for (let round = 0; round < 3; round += 1) {
    rounds.push([]);
    await startDueAudits({ ledger: use.ledger, runs: { startAudit } });
  }
  const [first = [], second = [], third = []] = rounds;
  expect(first).toEqual(names.slice(0, 100));
  expect(second).toEqual([...names.slice(100), ...names.slice(0, 50)]);
  expect(third).toEqual([...names.slice(50, 100), ...names.slice(0, 50)]);
});

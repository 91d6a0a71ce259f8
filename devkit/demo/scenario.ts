import { paymentsOnChain } from '../localstack/chain-truth.ts';
import { type Case, type Customers, meetCustomers } from './customers.ts';
import { meetDepositors } from './depositors.ts';
import { auditDeposits, makeAll } from './deposits.ts';
import { killBetweenBlockAndCredit, killBetweenSendAndConfirmation } from './kill.ts';
import { chainOf, type DemoReport, type Ended, report } from './report.ts';
import { auditSales, sell } from './sales.ts';
import type { Stage } from './stage.ts';

/**
 * Pays five customers and turns one away, while users deposit and others only seem to. The last payment loses its worker between send
 * and confirmation, the last deposit loses the scanner between its block and its credit. Before that a buyer pays the gateway, whose
 * last sale loses it between settlement and answer.
 */
export async function runScenario(stage: Stage): Promise<DemoReport> {
  const [customers, depositors] = await Promise.all([meetCustomers(stage), meetDepositors(stage)]);
  const selling = await sell(stage);
  const [[paid, rejected], gifts] = await Promise.all([
    payCustomers(stage, customers),
    makeAll(stage, depositors.payments),
  ]);
  const { cases, kill } = await killBetweenSendAndConfirmation(stage, customers.crash);
  const lost = await killBetweenBlockAndCredit(stage, depositors);
  const survivors = await Promise.all(cases.map((each) => follow(stage, each)));
  const deposits = await auditDeposits(stage, depositors.wallets, [...gifts, ...lost.gifts], lost.kill);
  const sales = await auditSales(stage, selling);
  const payments = await paymentsOnChain(stage.node, stage.stack.hotWallet);
  return report(chainOf(stage.stack), [...paid, ...survivors], rejected, kill, payments, deposits, sales);
}

async function payCustomers(
  stage: Stage,
  { paid, rejected }: Customers,
): Promise<readonly [paid: readonly Ended[], rejected: Ended]> {
  for (const { what, terms } of [...paid, rejected]) {
    await stage.sluice.withdraw(terms, { signal: stage.signal });
    stage.say(`requested: ${what}`);
  }
  return [await Promise.all(paid.map((each) => follow(stage, each))), await follow(stage, rejected)];
}

async function follow({ sluice, say, signal }: Stage, request: Case): Promise<Ended> {
  let reported = '';
  const result = await sluice.waitForFinal(request.terms.id, {
    pollMs: 200,
    signal,
    onChange: ({ status, reason }) => {
      const line = `${request.what}: ${status}${reason === null ? '' : ` — ${reason.message}`}`;
      if (line !== reported) say(line);
      reported = line;
    },
  });
  return { request, result };
}

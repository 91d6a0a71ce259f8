import { paymentsOnChain } from '../localstack/chain-truth.ts';
import { type Customers, createCustomers, type WithdrawalCase } from './customers.ts';
import { createDepositors } from './depositors.ts';
import { auditDeposits, sendAll } from './deposits.ts';
import { killBetweenBlockAndCredit, killBetweenSendAndConfirmation } from './kill.ts';
import { chainOf, type DemoReport, type FinishedWithdrawal, report } from './report.ts';
import { auditSales, runSales } from './sales.ts';
import type { Stage } from './stage.ts';

/**
 * Runs x402 sales, then withdrawals (five paid, one rejected) and deposits together, then compares everything with the blocks. Kills
 * the gateway between settlement and answer, a worker between send and confirmation, and the scanner between block and credit.
 */
export async function runScenario(stage: Stage): Promise<DemoReport> {
  const [customers, depositors] = await Promise.all([createCustomers(stage), createDepositors(stage)]);
  const saleRun = await runSales(stage);
  const [[paid, rejected], gifts] = await Promise.all([
    payCustomers(stage, customers),
    sendAll(stage, depositors.payments),
  ]);
  const { cases, kill } = await killBetweenSendAndConfirmation(stage, customers.crash);
  const scannerKill = await killBetweenBlockAndCredit(stage, depositors);
  const survivors = await Promise.all(cases.map((each) => follow(stage, each)));
  const deposits = await auditDeposits(
    stage,
    depositors.wallets,
    [...gifts, ...scannerKill.gifts],
    scannerKill.kill,
  );
  const sales = await auditSales(stage, saleRun);
  const payments = await paymentsOnChain(stage.node, stage.stack.hotWallet);
  return report(chainOf(stage.stack), [...paid, ...survivors], rejected, kill, payments, deposits, sales);
}

async function payCustomers(
  stage: Stage,
  { paid, rejected }: Customers,
): Promise<readonly [paid: readonly FinishedWithdrawal[], rejected: FinishedWithdrawal]> {
  for (const { what, terms } of [...paid, rejected]) {
    await stage.sluice.withdraw(terms, { signal: stage.signal });
    stage.say(`requested: ${what}`);
  }
  return [await Promise.all(paid.map((each) => follow(stage, each))), await follow(stage, rejected)];
}

async function follow({ sluice, say, signal }: Stage, request: WithdrawalCase): Promise<FinishedWithdrawal> {
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

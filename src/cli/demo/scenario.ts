import { paymentsOnChain } from '../../localstack/chain-truth.ts';
import { type Case, meetCustomers } from './customers.ts';
import { killBetweenSendAndConfirmation } from './kill.ts';
import { type DemoReport, type Ended, report } from './report.ts';
import type { Stage } from './stage.ts';

/** Pays five customers and turns one away; the last payment loses its worker between send and confirmation. */
export async function runScenario(stage: Stage): Promise<DemoReport> {
  const customers = await meetCustomers(stage);
  for (const { what, terms } of [...customers.paid, customers.rejected]) {
    await stage.sluice.withdraw(terms, { signal: stage.signal });
    stage.say(`asked: ${what}`);
  }
  const paid = await Promise.all(customers.paid.map((each) => follow(stage, each)));
  const rejected = await follow(stage, customers.rejected);
  const { cases, kill } = await killBetweenSendAndConfirmation(stage, customers.crash);
  const survivors = await Promise.all(cases.map((each) => follow(stage, each)));
  const payments = await paymentsOnChain(stage.node, stage.stack.hotWallet);
  return report([...paid, ...survivors], rejected, kill, payments);
}

async function follow({ sluice, say, signal }: Stage, asked: Case): Promise<Ended> {
  let shown = '';
  const result = await sluice.waitForFinal(asked.terms.id, {
    pollMs: 200,
    signal,
    onChange: ({ status, reason }) => {
      const line = `${asked.what}: ${status}${reason === null ? '' : ` — ${reason.message}`}`;
      if (line !== shown) say(line);
      shown = line;
    },
  });
  return { asked, result };
}

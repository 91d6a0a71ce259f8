import { EXIT } from '../src/cli/exit.ts';
import { parseNotNegative, parsePositive } from '../src/cli/numbers.ts';
import { JSON_AND_PROGRESS_OPTION, run } from '../src/cli/output.ts';
import { createProgram, runProgram } from '../src/cli/program.ts';
import { renderReport } from './report.ts';
import { runChaos } from './run.ts';

const program = createProgram(
  'chaos',
  'withdrawals, deposits and sales under faults of every kind, judged from the blocks; the same seed gives the same faults',
);
program
  .option('--withdrawals <n>', 'withdrawals of SOL and tokens', parsePositive, 200)
  .option('--deposits <n>', 'deposits of SOL and tokens, with faults of the scan', parseNotNegative, 0)
  .option(
    '--payments <n>',
    'payments of x402 through the gateway, each for an item of its own',
    parseNotNegative,
    0,
  )
  .option(
    '--nonces <n>',
    'durable nonce accounts, as the lifetime of withdrawals instead of blockhashes',
    parseNotNegative,
    0,
  )
  .option('--seed <n>', 'what faults and withdrawals are drawn from', parsePositive, 1)
  .option(
    '--minutes <n>',
    'how long faults are injected; as long again may be needed to drain',
    parsePositive,
    6,
  )
  .option(...JSON_AND_PROGRESS_OPTION)
  .action(({ json, ...plan }) =>
    run({ json }, async (output) => {
      const report = await runChaos(plan, (line) => output.progress(line));
      for (const finding of report.findings) output.progress(`wrong: ${finding}`);
      output.result(report, renderReport(report));
      return report.findings.length === 0 ? EXIT.ok : EXIT.failure;
    }),
  );
await runProgram(program);

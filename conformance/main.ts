import { EXIT } from '../src/cli/exit.ts';
import { JSON_OPTION, run } from '../src/cli/output.ts';
import { createProgram, runProgram } from '../src/cli/program.ts';
import { checkRecorded } from './check.ts';
import { renderReport } from './report.ts';

const program = createProgram(
  'conformance:blocks',
  'reads recorded answers of real nodes as the scan does, and compares what it found with what is known of them',
);
program
  .argument('<directory>', 'holds facts.json, blocks/ and transactions/')
  .option(...JSON_OPTION)
  .action((directory, { json }) =>
    run({ json }, async (output) => {
      const report = await checkRecorded(directory);
      output.result(report, renderReport(report));
      return report.ok ? EXIT.ok : EXIT.failure;
    }),
  );
await runProgram(program);

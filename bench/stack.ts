import { type Stack, type StackOptions, startStack } from '../devkit/localstack/stack.ts';
import { EXIT } from '../src/cli/exit.ts';
import type { Output } from '../src/cli/output.ts';
import { benchEnvironment } from './settings.ts';

/** What a benchmark of withdrawals counts, whatever else it measures. */
interface Counted {
  readonly withdrawals: number;
  readonly transfersOnChain: number;
}

/** Measures on a new stack and prints the report. Fails unless the chain has exactly one transfer for each withdrawal. */
export async function measureOnStack<R extends Counted>(
  output: Output,
  options: StackOptions,
  measure: (stack: Stack, say: (line: string) => void) => Promise<R>,
  render: (report: R) => string,
): Promise<number> {
  output.progress('starting Temporal, PostgreSQL, a chain, signer, worker and API …');
  const stack = await startStack({
    ...options,
    stateDir: '.sluice/bench',
    ui: false,
    env: benchEnvironment(),
    say: (line) => output.progress(`  ${line}`),
  });
  try {
    const report = await measure(stack, (line) => output.progress(line));
    output.result(report, render(report));
    return report.transfersOnChain === report.withdrawals ? EXIT.ok : EXIT.failure;
  } finally {
    await stack.close();
  }
}

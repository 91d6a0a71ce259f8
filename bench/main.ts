import { createProgram, runProgram } from '../src/cli/program.ts';
import { registerWithdrawals } from './withdrawals/command.ts';

const program = createProgram('bench', 'measures Sluice on a stack of its own, on this machine');
registerWithdrawals(program);
await runProgram(program);

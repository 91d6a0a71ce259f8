import { createProgram, runProgram } from '../src/cli/program.ts';
import { registerFaults } from './faults/command.ts';
import { registerScale } from './scale/command.ts';
import { registerScan } from './scan/command.ts';
import { registerWithdrawals } from './withdrawals/command.ts';
import { registerX402 } from './x402/command.ts';

const program = createProgram('bench', 'measures Sluice on a stack of its own, on this machine');
registerWithdrawals(program);
registerFaults(program);
registerScan(program);
registerX402(program);
registerScale(program);
await runProgram(program);

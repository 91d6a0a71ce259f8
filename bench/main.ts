import { Command } from '@commander-js/extra-typings';
import { registerWithdrawals } from './withdrawals/command.ts';

const program = new Command('bench').description('measures Sluice on a stack of its own, on this machine');
registerWithdrawals(program);
await program.parseAsync();

import type { Command } from '@commander-js/extra-typings';
import { group, sluiceProgram } from '../../src/cli/sluice.ts';
import { registerDemo } from './demo.ts';
import { registerDev } from './dev.ts';
import { registerBuy } from './x402-buy.ts';

/** The command line of this repository: `sluice`, with the commands that bring a stack or a buyer for development. */
export function developmentProgram(): Command {
  const program = sluiceProgram(registerBuy);
  group(program, 'Needs nothing: starts a stack of its own', registerDev, registerDemo);
  return program;
}

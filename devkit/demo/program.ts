import type { Command } from '@commander-js/extra-typings';
import { group, sluiceProgram } from '../../src/cli/sluice.ts';
import { registerDemo } from './demo.ts';
import { registerDev } from './dev.ts';
import { registerBuy } from './x402-buy.ts';

/** The command line `sluice` with the commands for development: `dev`, `demo` and `x402 buy`. */
export function developmentProgram(): Command {
  const program = sluiceProgram(registerBuy);
  group(program, 'Development: start a local stack', registerDev, registerDemo);
  return program;
}

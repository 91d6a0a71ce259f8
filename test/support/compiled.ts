import type { Compiled } from '../../devkit/localstack/program.ts';

/** Where the programs that tests start were compiled to; without them each would compile itself, and the workflows, for seconds. */
export const COMPILED: Compiled = { compiledIn: process.env.COMPILED_PROGRAMS };

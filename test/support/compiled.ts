import type { CompiledPrograms } from '../../devkit/localstack/program.ts';

/** Directory of the compiled programs that tests start; otherwise each would compile itself and the workflows, for seconds. */
export const COMPILED: CompiledPrograms = { compiledIn: process.env.COMPILED_PROGRAMS };

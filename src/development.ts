import { developmentProgram } from './cli/development.ts';
import { runProgram } from './cli/program.ts';

await runProgram(developmentProgram());

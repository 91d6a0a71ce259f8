import { runProgram } from '../src/cli/program.ts';
import { developmentProgram } from './demo/program.ts';

await runProgram(developmentProgram());

#!/usr/bin/env node
import { runProgram } from './cli/program.ts';
import { sluiceProgram } from './cli/sluice.ts';

await runProgram(sluiceProgram());

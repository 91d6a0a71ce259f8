import type { workflowSource as PRODUCTION } from '../../src/platform/roles/workflow-source.ts';
import { testWorkflows } from './workflows.ts';

const workflowBundle = await testWorkflows();

/** Takes the place of its namesake of production in tests: the workers of all test files share one bundle. */
export const workflowSource = (): ReturnType<typeof PRODUCTION> => ({ workflowBundle });

import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';

/** `npm run build` bundles the workflows once; from source they are bundled at the start. */
export function workflowSource(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
  return import.meta.url.endsWith('.ts')
    ? { workflowsPath: path('../workflows/index.ts') }
    : { workflowBundle: { codePath: path('../workflow-bundle.js') } };
}

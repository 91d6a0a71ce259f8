import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type LocalPostgres, startPostgres } from '../../devkit/localstack/postgres.ts';
import { type LocalTemporal, startTemporal } from '../../devkit/localstack/temporal.ts';
import { createTemplate, type TemplateDatabase } from './template.ts';
import type { WorkflowBundleFile } from './workflows.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    servicesUrl: string;
  }
}

/**
 * Serves one PostgreSQL, one Temporal, one migrated template database and one bundle of the workflows to all test files.
 * Each starts at its first request. All later requests get the same service.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const logDir = mkdtempSync(join(tmpdir(), 'sluice-test-logs-'));
  let postgres: Promise<LocalPostgres> | undefined;
  let temporal: Promise<LocalTemporal> | undefined;
  let template: Promise<TemplateDatabase> | undefined;
  let workflows: Promise<WorkflowBundleFile> | undefined;
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const openPostgres = () => (postgres ??= startPostgres({ logDir }));
  const services: Readonly<Record<string, () => Promise<object>>> = {
    '/postgres': openPostgres,
    '/template': () => (template ??= openPostgres().then(({ url }) => createTemplate(url))),
    '/workflows': () =>
      (workflows ??= import('./bundle-workflows.ts').then(({ bundleWorkflows }) => bundleWorkflows(logDir))),
    '/temporal': () => (temporal ??= startTemporal({ logDir, ui: false, say })),
  };

  const server = createServer((request, response) => {
    const open = services[request.url ?? ''];
    const answer = open === undefined ? Promise.reject(new Error(`no service ${request.url}`)) : open();
    answer.then(
      (service) => response.end(JSON.stringify(service)),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  project.provide('servicesUrl', `http://127.0.0.1:${address.port}`);

  return async () => {
    server.closeAllConnections();
    server.close();
    // A server that no longer answers must still be stopped.
    await template?.then(({ drop }) => drop()).catch(() => undefined);
    for (const starting of [postgres, temporal]) {
      const service = await starting?.catch(() => undefined);
      await service?.stop();
    }
    rmSync(logDir, { recursive: true, force: true });
  };
}

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type LocalPostgres, startPostgres } from '../../src/localstack/postgres.ts';
import { type LocalTemporal, startTemporal } from '../../src/localstack/temporal.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    servicesUrl: string;
  }
}

/** Serves the addresses of one PostgreSQL and one Temporal to all test files; each starts when it is first asked for. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const logDir = mkdtempSync(join(tmpdir(), 'sluice-test-logs-'));
  let postgres: Promise<LocalPostgres> | undefined;
  let temporal: Promise<LocalTemporal> | undefined;
  const say = (line: string) => process.stderr.write(`${line}\n`);

  const server = createServer((request, response) => {
    const answer =
      request.url === '/postgres'
        ? (postgres ??= startPostgres({ logDir }))
        : (temporal ??= startTemporal({ logDir, ui: false, say }));
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
    for (const starting of [postgres, temporal]) {
      const service = await starting?.catch(() => undefined);
      await service?.stop();
    }
    rmSync(logDir, { recursive: true, force: true });
  };
}

import { afterAll, beforeAll, vi } from 'vitest';
import { API_KEY, openService, type Service } from '../http/service.ts';
import { runSluice } from '../support/cli.ts';

/** An API for the tests of one file, made ready by `prepare`, and the command line that asks it. */
export function useCommands(prepare: (service: Service) => Promise<unknown> = async () => undefined) {
  // Every command is a process of its own, which takes seconds on a busy machine.
  vi.setConfig({ testTimeout: 180_000 });
  let service: Service | undefined;
  let apiUrl = '';
  beforeAll(async () => {
    service = await openService();
    apiUrl = await service.app.listen({ host: '127.0.0.1', port: 0 });
    await prepare(service);
  });
  afterAll(() => service?.close());
  return {
    get service(): Service {
      if (service === undefined) throw new Error('the service opens before the first test');
      return service;
    },
    sluice: (...args: readonly string[]) =>
      runSluice(args, { env: { SLUICE_API_URL: apiUrl, SLUICE_API_KEY: API_KEY } }),
  };
}

import { afterAll, beforeAll } from 'vitest';
import { API_KEY, openService, type Service } from '../http/service.ts';
import { callSluice } from '../support/call-sluice.ts';

/** Runs an API for the tests of one file, which `prepare` sets up, and the command that calls it, inside the process of the test. */
export function useCommands(prepare: (service: Service) => Promise<unknown> = async () => undefined) {
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
      callSluice(args, { env: { SLUICE_API_URL: apiUrl, SLUICE_API_KEY: API_KEY } }),
  };
}

import { afterEach, expect, test, vi } from 'vitest';
import { testEnvironment } from './stack.ts';

afterEach(() => vi.unstubAllEnvs());

test("a developer's services and settings do not reach the stacks of the tests; the search paths of tools do", () => {
  const services = {
    DATABASE_URL: 'd',
    TEMPORAL_ADDRESS: 'a',
    TEMPORAL_NAMESPACE: 'n',
    SLUICE_RPC_URLS: 'r',
  };
  const tools = { TEMPORAL_CLI_PATH: '/bin/temporal', SLUICE_CACHE_DIR: '/cache', PATH: '/bin' };
  for (const [name, value] of Object.entries({ ...services, ...tools })) vi.stubEnv(name, value);
  const environment = testEnvironment();
  expect(environment).toMatchObject(tools);
  for (const name of Object.keys(services)) expect(environment).not.toHaveProperty(name);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SluiceClient } from '../../src/client/client.ts';

export { newAddress as newWallet } from '../../src/localstack/keypair.ts';

import { type Stack, startStack } from '../../src/localstack/stack.ts';
import { COMPILED } from './compiled.ts';

/** A running stack on a fast chain, and a client of it. */
export interface TestStack {
  readonly stack: Stack;
  readonly sluice: SluiceClient;
  close(): Promise<void>;
}

/**
 * Real processes: Temporal, PostgreSQL, a chain of two nodes with short slots, signer, worker and API. With `slotMs` 0 the chain
 * stands still until a {@link ChainClock} runs. `settings` are those of all processes.
 */
export async function testStack(slotMs = 100, settings: NodeJS.ProcessEnv = {}): Promise<TestStack> {
  const stateDir = mkdtempSync(join(tmpdir(), 'sluice-stack-'));
  const stack = await startStack({
    ...COMPILED,
    stateDir,
    slotMs,
    finalityLag: 8,
    ui: false,
    env: { ...testEnvironment(), ...settings },
  });
  const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
  const close = async (): Promise<void> => {
    await stack.close();
    rmSync(stateDir, { recursive: true, force: true });
  };
  return { stack, sluice, close };
}

/** Where tools are found must reach the tests; a developer's own settings, and the services that they name, must not. */
export function testEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => TOOLS.has(name) || !/^(SLUICE_.*|TEMPORAL_.*|DATABASE_URL)$/.test(name),
  );
  return Object.fromEntries(kept);
}

const TOOLS: ReadonlySet<string> = new Set(['SLUICE_CACHE_DIR', 'TEMPORAL_CLI_PATH']);

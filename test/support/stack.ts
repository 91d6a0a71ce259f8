import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { base58 } from '@scure/base';
import { SluiceClient } from '../../src/client/client.ts';
import { ManagedProcess } from '../../src/localstack/process.ts';
import { sourceProgram } from '../../src/localstack/program.ts';
import { type Stack, startStack } from '../../src/localstack/stack.ts';

/** A running stack on a fast chain, and a client of it. */
export interface TestStack {
  readonly stack: Stack;
  readonly sluice: SluiceClient;
  close(): Promise<void>;
}

/** Real processes: Temporal, PostgreSQL, a chain of two nodes with short slots, signer, worker and API. */
export async function testStack(): Promise<TestStack> {
  const stateDir = mkdtempSync(join(tmpdir(), 'sluice-stack-'));
  const stack = await startStack({
    stateDir,
    slotMs: 100,
    finalityLag: 8,
    ui: false,
    env: testEnvironment(),
  });
  const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
  const close = async (): Promise<void> => {
    await stack.close();
    rmSync(stateDir, { recursive: true, force: true });
  };
  return { stack, sluice, close };
}

/** A chain worker that ends itself at one step of one withdrawal; see `crashing-worker.ts`. */
export async function startCrashingWorker(stack: Stack, at: string, id: string): Promise<ManagedProcess> {
  const worker = new ManagedProcess({
    name: `crashing-${id}`,
    ...sourceProgram('../test/support/crashing-worker.ts'),
    env: {
      ...testEnvironment(),
      TEMPORAL_ADDRESS: stack.temporal.address,
      TEMPORAL_NAMESPACE: stack.temporal.namespace,
      DATABASE_URL: stack.databaseUrl,
      SLUICE_RPC_URLS: stack.rpcUrls.join(','),
      SLUICE_HOT_WALLET: stack.hotWallet,
      CRASH_AT: at,
      CRASH_ID: id,
    },
    logFile: join(stack.logDir, `crashing-${id}.log`),
    ready: async () => true,
  });
  await worker.start();
  return worker;
}

/** A fresh address on the curve. */
export function newWallet(): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  return base58.encode(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32));
}

// A developer's own settings must not reach the tests, but where the CLI is found must.
function testEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('SLUICE_') || name === 'SLUICE_CACHE_DIR',
  );
  return Object.fromEntries(kept.filter(([name]) => name !== 'DATABASE_URL'));
}

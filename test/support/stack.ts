import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChainKind } from '../../devkit/localstack/chain.ts';
import type { SalesOptions } from '../../devkit/localstack/sales.ts';
import { type Stack, startStack } from '../../devkit/localstack/stack.ts';
import { SluiceClient } from '../../src/client/client.ts';
import { COMPILED } from './compiled.ts';
import { freshNamespace } from './namespace.ts';
import { freshDatabase } from './postgres.ts';

/** A running stack on a fast chain, and a client of it. */
export interface TestStack {
  readonly stack: Stack;
  readonly sluice: SluiceClient;
  close(): Promise<void>;
}

/** A blockhash is valid for 30 s of such slots: on a busy machine an attempt lands before it expires. Tests expire it by many blocks at once. */
export const SLOT_MS = 200;

/** The servers of a stack: a database and a namespace on those of all test files, or its own servers, which a test may stop. */
export type StackServers = 'shared' | 'own';

/**
 * Real processes: Temporal, PostgreSQL, a chain of two nodes with short slots, signer, worker and API. With `slotMs` 0 the chain
 * makes no slots until a {@link ChainClock} runs. `settings` are those of all processes. With `sales` the stack
 * also has an x402 gateway with its worker. A `validator` of PATH has slots of its own.
 */
export async function testStack(
  slotMs = SLOT_MS,
  settings: NodeJS.ProcessEnv = {},
  servers: StackServers = 'shared',
  sales?: SalesOptions,
  chainKind?: ChainKind,
): Promise<TestStack> {
  const stateDir = mkdtempSync(join(tmpdir(), 'sluice-stack-'));
  const [database, temporal] =
    servers === 'own' ? [] : await Promise.all([freshDatabase(), freshNamespace('stack')]);
  const stack = await startStack({
    ...COMPILED,
    stateDir,
    slotMs,
    finalityLag: 4,
    ui: false,
    ...(sales === undefined ? {} : { sales }),
    ...(chainKind === undefined ? {} : { chainKind }),
    env: {
      ...testEnvironment(),
      ...temporal?.env,
      ...(database === undefined ? {} : { DATABASE_URL: database.url }),
      ...settings,
    },
  });
  const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
  const close = async (): Promise<void> => {
    // A stack whose data is deleted needs no orderly end.
    const { api, worker, signer, chain, x402 } = stack;
    await Promise.all([api.kill(), worker.kill(), signer.kill(), x402?.kill(), chain?.kill()]);
    await stack.close();
    await database?.drop();
    rmSync(stateDir, { recursive: true, force: true });
  };
  return { stack, sluice, close };
}

/** The search paths of tools must reach the tests; a developer's own settings and services must not. */
export function testEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => TOOLS.has(name) || !/^(SLUICE_.*|TEMPORAL_.*|DATABASE_URL)$/.test(name),
  );
  return Object.fromEntries(kept);
}

const TOOLS: ReadonlySet<string> = new Set(['SLUICE_CACHE_DIR', 'TEMPORAL_CLI_PATH']);

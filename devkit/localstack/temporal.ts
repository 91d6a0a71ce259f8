import { join, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { registerSearchAttributes } from '../../src/platform/temporal/client.ts';
import { SEARCH_ATTRIBUTES } from '../../src/workflows/search-attributes.ts';
import { freePort } from './ports.ts';
import { ManagedProcess } from './process.ts';
import { ensureTemporalCli } from './temporal-cli.mjs';

export interface LocalTemporal {
  /** `host:port` of the gRPC service. */
  readonly address: string;
  readonly namespace: string;
  /** Address of the Web UI; null when it was not asked for. */
  readonly uiUrl: string | null;
  /** Why that address may be wrong; null if it is certain. */
  readonly uiNote: string | null;
  /** The server, which can be killed and restarted; null if this program did not start it. */
  readonly process: ManagedProcess | null;
  stop(): Promise<void>;
}

export interface TemporalOptions {
  /** Default: a free one. */
  readonly uiPort?: number;
  /** Default true. */
  readonly ui?: boolean;
  /** SQLite file that lets the server survive a restart. Default: everything in memory. */
  readonly dbFile?: string;
  /** Default `.sluice/logs`. */
  readonly logDir?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Dynamic config of the server, by key, such as `limit.historyCount.suggestContinueAsNew`. */
  readonly dynamicConfig?: Readonly<Record<string, string>>;
  /** Ends the start of the server early. */
  readonly signal?: AbortSignal;
  /** Receives one line for each step of finding or building the CLI. */
  readonly say?: (line: string) => void;
}

type Ui = Pick<LocalTemporal, 'uiUrl' | 'namespace'>;

/** Address of the list of withdrawals in the Web UI; null without a UI. */
export function withdrawalsInUi(ui: Ui): string | null {
  return listInUi(ui, ['withdrawal']);
}

/** Address of the list of deposit workflows: scan, backfills, reconciliations and webhooks. */
export function depositsInUi(ui: Ui): string | null {
  return listInUi(ui, ['depositScan', 'backfill', 'reconciliation', 'webhookDelivery']);
}

function listInUi({ uiUrl, namespace }: Ui, types: readonly string[]): string | null {
  if (uiUrl === null) return null;
  const [first = '', ...others] = types.map((type) => `"${type}"`);
  const filter = others.length === 0 ? `=${first}` : ` IN (${[first, ...others].join(',')})`;
  const query = encodeURIComponent(`WorkflowType${filter}`);
  return `${uiUrl}/namespaces/${namespace}/workflows?query=${query}`;
}

async function serves(address: string, namespace: string): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: '2s' });
    await connection.workflowService.describeNamespace({ namespace });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

/** Port of the Web UI in Temporal's development server and in the compose file. */
const USUAL_UI_PORT = 8233;

/** The Web UI of a server that this program did not start. No API returns its address, so it is guessed. */
function guessedUi(address: string): Pick<LocalTemporal, 'uiUrl' | 'uiNote'> {
  const host = address.slice(0, address.lastIndexOf(':'));
  return {
    uiUrl: `http://${host}:${USUAL_UI_PORT}`,
    uiNote: 'a guess: the usual port of the Web UI on the host of TEMPORAL_ADDRESS',
  };
}

async function useRunning(address: string, env: NodeJS.ProcessEnv): Promise<LocalTemporal> {
  const namespace = env.TEMPORAL_NAMESPACE || 'default';
  const connection = await Connection.connect({ address, connectTimeout: '10s' });
  try {
    await registerSearchAttributes(connection, namespace);
  } finally {
    await connection.close();
  }
  return { address, namespace, ...guessedUi(address), process: null, stop: async () => undefined };
}

function dynamicConfigArgs(values: TemporalOptions['dynamicConfig'] = {}): readonly string[] {
  return Object.entries(values).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]);
}

/**
 * The Temporal server at `TEMPORAL_ADDRESS` if it is set; `stop` does not stop it. Else a development server, by a CLI that is found
 * or built. Registers the search attributes.
 */
export async function startTemporal(options: TemporalOptions = {}): Promise<LocalTemporal> {
  const env = options.env ?? process.env;
  if (env.TEMPORAL_ADDRESS) return useRunning(env.TEMPORAL_ADDRESS, env);

  const command = await ensureTemporalCli({
    env,
    ...(options.say === undefined ? {} : { say: options.say }),
  });
  const port = await freePort();
  const uiPort = options.ui === false ? null : (options.uiPort ?? (await freePort()));
  const address = `127.0.0.1:${port}`;
  const namespace = 'default';
  const server = new ManagedProcess({
    name: 'temporal',
    command,
    args: [
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--port',
      String(port),
      '--log-level',
      'warn',
      ...(options.dbFile === undefined ? [] : ['--db-filename', options.dbFile]),
      ...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)]),
      ...dynamicConfigArgs(options.dynamicConfig),
      ...SEARCH_ATTRIBUTES.flatMap((key) => ['--search-attribute', `${key.name}=Keyword`]),
    ],
    env,
    logFile: join(resolve(options.logDir ?? '.sluice/logs'), 'temporal.log'),
    stopTimeoutMs: 3_000,
    ready: () => serves(address, namespace),
  });
  await server.start(options.signal);
  return {
    address,
    namespace,
    uiUrl: uiPort === null ? null : `http://127.0.0.1:${uiPort}`,
    uiNote: uiPort === null ? 'started without' : null,
    process: server,
    stop: () => server.stop(),
  };
}

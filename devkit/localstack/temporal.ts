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
  /** URL of the Web UI; null if the server runs without it. */
  readonly uiUrl: string | null;
  /** Note about `uiUrl`: why it can be wrong, or that there is no Web UI. Null if `uiUrl` is certain. */
  readonly uiNote: string | null;
  /** The server's process; null for the server of `TEMPORAL_ADDRESS`. */
  readonly process: ManagedProcess | null;
  stop(): Promise<void>;
}

export interface TemporalOptions {
  readonly uiPort?: number;
  /** Default true. */
  readonly ui?: boolean;
  /** SQLite file for the server's data, so that workflows survive a restart. Default: in memory. */
  readonly dbFile?: string;
  /** Default `.sluice/logs`. */
  readonly logDir?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Dynamic config values of the server by key, such as `limit.historyCount.suggestContinueAsNew`. */
  readonly dynamicConfig?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Receives one line for each step of finding or building the CLI. */
  readonly say?: (line: string) => void;
}

type UiAddress = Pick<LocalTemporal, 'uiUrl' | 'namespace'>;

export function withdrawalsInUi(ui: UiAddress): string | null {
  return listInUi(ui, ['withdrawal']);
}

export function depositsInUi(ui: UiAddress): string | null {
  return listInUi(ui, ['depositScan', 'backfill', 'reconciliation', 'webhookDelivery']);
}

function listInUi({ uiUrl, namespace }: UiAddress, types: readonly string[]): string | null {
  if (uiUrl === null) return null;
  const [first = '', ...others] = types.map((type) => `"${type}"`);
  const filter = others.length === 0 ? `=${first}` : ` IN (${[first, ...others].join(',')})`;
  const query = encodeURIComponent(`WorkflowType${filter}`);
  return `${uiUrl}/namespaces/${namespace}/workflows?query=${query}`;
}

async function isServing(address: string, namespace: string): Promise<boolean> {
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

/** Fewer garbage collections of the server, for more memory: about a fifth of its processor time. */
const GOGC = '400';

/** Port of the Web UI in Temporal's development server and in the compose file. */
const DEFAULT_UI_PORT = 8233;

/** The probable Web UI of a server that this program did not start: no API returns its URL. */
function guessUi(address: string): Pick<LocalTemporal, 'uiUrl' | 'uiNote'> {
  const host = address.slice(0, address.lastIndexOf(':'));
  return {
    uiUrl: `http://${host}:${DEFAULT_UI_PORT}`,
    uiNote: 'a guess: the default port of the Web UI on the host of TEMPORAL_ADDRESS',
  };
}

async function connectToServer(address: string, env: NodeJS.ProcessEnv): Promise<LocalTemporal> {
  const namespace = env.TEMPORAL_NAMESPACE || 'default';
  const connection = await Connection.connect({ address, connectTimeout: '10s' });
  try {
    await registerSearchAttributes(connection, namespace);
  } finally {
    await connection.close();
  }
  return { address, namespace, ...guessUi(address), process: null, stop: async () => undefined };
}

function dynamicConfigArgs(values: TemporalOptions['dynamicConfig'] = {}): readonly string[] {
  return Object.entries(values).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]);
}

/**
 * The Temporal server at `TEMPORAL_ADDRESS` if it is set; `stop` then does nothing. Else a development server of the Temporal CLI,
 * which is downloaded or built if it is missing. Registers the search attributes.
 */
export async function startTemporal(options: TemporalOptions = {}): Promise<LocalTemporal> {
  const env = options.env ?? process.env;
  if (env.TEMPORAL_ADDRESS) return connectToServer(env.TEMPORAL_ADDRESS, env);

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
    env: { GOGC, ...env },
    logFile: join(resolve(options.logDir ?? '.sluice/logs'), 'temporal.log'),
    stopTimeoutMs: 3_000,
    ready: () => isServing(address, namespace),
  });
  await server.start(options.signal);
  return {
    address,
    namespace,
    uiUrl: uiPort === null ? null : `http://127.0.0.1:${uiPort}`,
    uiNote: uiPort === null ? 'the server was started without a Web UI' : null,
    process: server,
    stop: () => server.stop(),
  };
}

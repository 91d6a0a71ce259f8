import type { Logger as TemporalLogger } from '@temporalio/common';
import { type DestinationStream, type Level, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

const SECRET_NAMES = [
  'secretKey',
  'privateKey',
  'keypair',
  'apiKey',
  'authorization',
  'password',
  'databaseUrl',
  'signerKey',
  'payloadKeys',
];
const REDACTED_PATHS = SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

export interface LoggingOptions {
  readonly level: Level | 'silent';
  readonly name: string;
  /** Default: stderr, so that stdout contains only results. */
  readonly destination?: DestinationStream;
}

/** Creates a logger of JSON lines. Fields with the names of secrets are redacted, up to three levels deep. */
export function createLogger({ level, name, destination }: LoggingOptions): Logger {
  const options = { level, name, redact: { paths: REDACTED_PATHS, censor: '[redacted]' } };
  return pino(options, destination ?? pino.destination({ dest: 2, sync: true }));
}

const LEVELS_BY_TEMPORAL_LEVEL = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const;

export function temporalLogger(logger: Logger): TemporalLogger {
  const write = (level: Level) => (message: string, meta?: Record<string | symbol, unknown>) =>
    logger[level]({ ...meta }, message);
  return {
    log: (level, message, meta) => write(LEVELS_BY_TEMPORAL_LEVEL[level])(message, meta),
    trace: write('trace'),
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Config, ConfigError, readConfig } from '../platform/config.ts';
import { UsageError } from './exit.ts';

/** File with the connection data of a running `npm run dev`. */
export const DEV_FILE = '.sluice/dev.json';

const text = z.string().optional().catch(undefined);
const devFile = z
  .object({
    apiUrl: text,
    apiKey: text,
    databaseUrl: text,
    hotWallet: text,
    temporalAddress: text,
    temporalNamespace: text,
    sales: z.object({ buyerKeyFile: text, routesFile: text }).optional().catch(undefined),
    rpcUrls: z.array(z.string()).min(1).optional().catch(undefined),
  })
  .catch({});

/** Reads the dev file of `directory`; an empty object if there is no such file. Throws UsageError if it is not JSON. */
export function readDevFile(directory: string = process.cwd()): z.output<typeof devFile> {
  let content: string;
  try {
    content = readFileSync(join(directory, DEV_FILE), 'utf8');
  } catch {
    return {};
  }
  try {
    return devFile.parse(JSON.parse(content));
  } catch {
    throw new UsageError(`${DEV_FILE} is not valid JSON; start "npm run dev" again`);
  }
}

export function missingSetting(setting: string): UsageError {
  return new UsageError(
    `set ${setting}, or change to the directory of a running "npm run dev": it writes ${DEV_FILE}, which is not in ${process.cwd()}`,
  );
}

/** The settings in the environment. Throws UsageError on an invalid one. */
export function settings(): Config {
  try {
    return readConfig(process.env, 'tool');
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message) : error;
  }
}

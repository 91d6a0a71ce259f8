import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SluiceClient } from '../client/client.ts';
import { UsageError } from './exit.ts';

/** File in which `npm run dev` leaves the address and key of the API that it runs. */
export const DEV_FILE = '.sluice/dev.json';

/** A client of the API that SLUICE_API_URL and SLUICE_API_KEY name; what is not set comes from `.sluice/dev.json`. */
export function connect(
  env: NodeJS.ProcessEnv = process.env,
  directory: string = process.cwd(),
): SluiceClient {
  const dev = env.SLUICE_API_URL && env.SLUICE_API_KEY ? {} : readDevFile(join(directory, DEV_FILE));
  const baseUrl = env.SLUICE_API_URL || dev.apiUrl;
  const apiKey = env.SLUICE_API_KEY || dev.apiKey;
  if (baseUrl === undefined) throw missing('SLUICE_API_URL');
  if (apiKey === undefined) throw missing('SLUICE_API_KEY');
  if (!URL.canParse(baseUrl)) throw new UsageError(`SLUICE_API_URL is no URL: ${baseUrl}`);
  return new SluiceClient({ baseUrl, apiKey });
}

function missing(setting: string): UsageError {
  return new UsageError(`set ${setting}, or start the stack with "npm run dev", which writes ${DEV_FILE}`);
}

function readDevFile(path: string): { readonly apiUrl?: string; readonly apiKey?: string } {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new UsageError(`${DEV_FILE} is no JSON; start "npm run dev" again`);
    return {};
  }
  if (typeof value !== 'object' || value === null) return {};
  return {
    ...('apiUrl' in value && typeof value.apiUrl === 'string' ? { apiUrl: value.apiUrl } : {}),
    ...('apiKey' in value && typeof value.apiKey === 'string' ? { apiKey: value.apiKey } : {}),
  };
}

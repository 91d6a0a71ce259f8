import { SluiceClient, type SluiceError } from '../client/client.ts';
import { notSet, readDevFile } from './dev-file.ts';
import { UsageError } from './exit.ts';

/** An operator waits for the response, and each try may take ten seconds while PostgreSQL does not respond. */
const RETRY_WITHIN_MS = 15_000;

export interface Connection {
  readonly url?: string | undefined;
  readonly apiKey?: string | undefined;
}

/** API client from options, then SLUICE_API_URL and SLUICE_API_KEY, then the file of a running `npm run dev`. */
export function connect(options: Connection = {}): SluiceClient {
  const { SLUICE_API_URL, SLUICE_API_KEY } = process.env;
  const url = options.url ?? (SLUICE_API_URL || undefined);
  const key = options.apiKey ?? (SLUICE_API_KEY || undefined);
  const dev = url === undefined || key === undefined ? readDevFile() : {};
  const baseUrl = url ?? dev.apiUrl;
  const apiKey = key ?? dev.apiKey;
  if (baseUrl === undefined) throw notSet('--url or SLUICE_API_URL');
  if (apiKey === undefined) throw notSet('--api-key or SLUICE_API_KEY');
  if (!URL.canParse(baseUrl))
    throw new UsageError(
      `--url or SLUICE_API_URL must be a URL such as http://127.0.0.1:3402, not ${baseUrl}`,
    );
  return new SluiceClient({ baseUrl, apiKey, retryWithinMs: RETRY_WITHIN_MS, onRetry: reportRetry });
}

function reportRetry({ message }: SluiceError): void {
  process.stderr.write(`sluice: ${message}; trying again\n`);
}

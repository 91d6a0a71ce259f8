import { SluiceClient, type SluiceError } from '../client/client.ts';
import { missingSetting, readDevFile } from './dev-file.ts';
import { UsageError } from './exit.ts';

/** Short, because an operator waits, but longer than a try takes while PostgreSQL does not respond (ten seconds). */
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
  const devFile = url === undefined || key === undefined ? readDevFile() : {};
  const baseUrl = url ?? devFile.apiUrl;
  const apiKey = key ?? devFile.apiKey;
  if (baseUrl === undefined) throw missingSetting('--url or SLUICE_API_URL');
  if (apiKey === undefined) throw missingSetting('--api-key or SLUICE_API_KEY');
  if (!URL.canParse(baseUrl))
    throw new UsageError(
      `--url or SLUICE_API_URL must be a URL such as http://127.0.0.1:3402, not ${baseUrl}`,
    );
  return new SluiceClient({ baseUrl, apiKey, retryWithinMs: RETRY_WITHIN_MS, onRetry: reportRetry });
}

function reportRetry({ message }: SluiceError): void {
  process.stderr.write(`sluice: ${message}; trying again\n`);
}

import { SluiceClient, type SluiceError } from '../client/client.ts';
import { notSet, readDevFile } from './dev-file.ts';
import { UsageError } from './exit.ts';

/** Somebody waits for the answer: a database that stands still takes ten seconds of each try. */
const RETRY_WITHIN_MS = 15_000;

/** A client of the API that SLUICE_API_URL and SLUICE_API_KEY name; what is not set comes from a running `npm run dev`. */
export function connect(env: NodeJS.ProcessEnv = process.env): SluiceClient {
  const dev = env.SLUICE_API_URL && env.SLUICE_API_KEY ? {} : readDevFile();
  const baseUrl = env.SLUICE_API_URL || dev.apiUrl;
  const apiKey = env.SLUICE_API_KEY || dev.apiKey;
  if (baseUrl === undefined) throw notSet('SLUICE_API_URL');
  if (apiKey === undefined) throw notSet('SLUICE_API_KEY');
  if (!URL.canParse(baseUrl)) throw new UsageError(`SLUICE_API_URL is no URL: ${baseUrl}`);
  return new SluiceClient({ baseUrl, apiKey, retryWithinMs: RETRY_WITHIN_MS, onRetry: sayThatItWaits });
}

/** A person who waits a minute for an answer must not think that the command hangs. */
function sayThatItWaits({ message }: SluiceError): void {
  process.stderr.write(`sluice: ${message}; trying again\n`);
}

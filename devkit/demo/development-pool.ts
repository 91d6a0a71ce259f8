import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { generate } from '../../src/cli/addresses/generate.ts';
import type { AddressManifest, SluiceClient } from '../../src/client/client.ts';
import { type ChainInfo, mintsOf } from '../localstack/chain.ts';

/** Deposit addresses of a development stack, with the paths of their manifest and mnemonic. */
export interface DevelopmentPool {
  readonly manifest: AddressManifest;
  readonly manifestFile: string;
  readonly mnemonicFile: string;
}

/** More than SLUICE_ADDRESS_LOW_WATER, so that some can be assigned before the alert. */
const ADDRESS_COUNT = 150;
/** A developer can run without a scan, so that the wait must end. */
const SCAN_START_TIMEOUT_MS = 30_000;
const POLL_MS = 200;

/** The manifest and the mnemonic in `directory`. Creates them with the offline tool if they are missing. */
export async function developmentPool(
  directory: string,
  say: (line: string) => void,
): Promise<DevelopmentPool> {
  const manifestFile = join(directory, 'deposits.json');
  const mnemonicFile = join(directory, 'deposits.mnemonic');
  if (!existsSync(manifestFile)) {
    await mkdir(directory, { recursive: true });
    const source = existsSync(mnemonicFile) ? { mnemonicFile } : {};
    await generate(
      { count: ADDRESS_COUNT, start: 0, out: manifestFile, ...source },
      { progress: say, result: () => undefined },
    );
  }
  const manifest = JSON.parse(await readFile(manifestFile, 'utf8')) as AddressManifest;
  return { manifest, manifestFile, mnemonicFile };
}

/**
 * Imports the pool through the API, lists every token of the chain, and waits until the scan has begun: before that, no address can be
 * assigned. Throws if `signal` is aborted.
 */
export async function openDeposits(
  sluice: SluiceClient,
  pool: DevelopmentPool,
  chain: ChainInfo | null,
  signal: AbortSignal,
): Promise<void> {
  await sluice.depositAddresses.import(pool.manifest, { signal });
  for (const mint of Object.values(mintsOf(chain))) await sluice.assets.put(mint, {}, { signal });
  const end = Date.now() + SCAN_START_TIMEOUT_MS;
  while ((await sluice.scan.status({ signal })).cursor === null && Date.now() < end)
    await sleep(POLL_MS, undefined, { signal });
}

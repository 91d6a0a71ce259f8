import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { generate } from '../../src/cli/addresses/generate.ts';
import type { AddressManifest, SluiceClient } from '../../src/client/client.ts';
import { type ChainInfo, mintsOf } from '../localstack/chain.ts';

/** Deposit addresses of a development stack, and where their keys are. */
export interface DevelopmentPool {
  readonly manifest: AddressManifest;
  readonly manifestFile: string;
  readonly mnemonicFile: string;
}

/** More than SLUICE_ADDRESS_LOW_WATER, so that some can be assigned before the alert. */
const COUNT = 150;
/** The developer's settings may have no scan: then the wait ends. */
const SCAN_BEGINS_MS = 30_000;
const LOOK_EVERY_MS = 200;

/** The manifest and the mnemonic (readable by the owner only) in `directory`. The offline tool creates them if they are missing. */
export async function developmentPool(
  directory: string,
  say: (line: string) => void,
): Promise<DevelopmentPool> {
  const manifestFile = join(directory, 'deposits.json');
  const mnemonicFile = join(directory, 'deposits.mnemonic');
  if (!existsSync(manifestFile)) {
    await mkdir(directory, { recursive: true });
    const words = existsSync(mnemonicFile) ? { mnemonicFile } : {};
    await generate(
      { count: COUNT, start: 0, out: manifestFile, ...words },
      {
        progress: say,
        result: () => undefined,
      },
    );
  }
  const manifest = JSON.parse(await readFile(manifestFile, 'utf8')) as AddressManifest;
  return { manifest, manifestFile, mnemonicFile };
}

/**
 * Imports the pool over the API, lists every token of the chain, and waits for the scan to begin, before which no address is given
 * out. `signal` ends it early.
 */
export async function openDeposits(
  sluice: SluiceClient,
  pool: DevelopmentPool,
  chain: ChainInfo | null,
  signal: AbortSignal,
): Promise<void> {
  await sluice.depositAddresses.import(pool.manifest, { signal });
  for (const mint of Object.values(mintsOf(chain))) await sluice.assets.put(mint, {}, { signal });
  const end = Date.now() + SCAN_BEGINS_MS;
  while ((await sluice.scan.status({ signal })).cursor === null && Date.now() < end)
    await sleep(LOOK_EVERY_MS, undefined, { signal });
}

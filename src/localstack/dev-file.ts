import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Stack } from './stack.ts';

/** What `npm run dev` leaves for other programs: where everything is, the API key, and paths (never contents) of key files. */
export function devFacts(stack: Stack): Readonly<Record<string, unknown>> {
  return {
    apiUrl: stack.apiUrl,
    apiKey: stack.apiKey,
    temporalAddress: stack.temporal.address,
    temporalNamespace: stack.temporal.namespace,
    temporalUi: stack.temporal.uiUrl,
    databaseUrl: stack.databaseUrl,
    rpcUrls: stack.rpcUrls,
    hotWallet: stack.hotWallet,
    signerKeyFile: stack.signerKeyFile,
    chain: stack.chainInfo,
    logs: stack.logDir,
  };
}

/** Writes {@link devFacts} to `path`, readable by the owner only. The answer takes the file away again. */
export function writeDevFile(stack: Stack, path: string): () => void {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify(devFacts(stack), null, 2)}\n`, { mode: 0o600 });
  return () => rmSync(path, { force: true });
}

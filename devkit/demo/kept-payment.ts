import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { DEV_FILE } from '../../src/cli/dev-file.ts';
import { UsageError } from '../../src/cli/exit.ts';
import { FORMS } from '../localstack/buyer.ts';

const keptPayment = z.object({
  url: z.string(),
  form: z.enum(FORMS),
  headers: z.record(z.string(), z.string()),
  /** base64. */
  transaction: z.string(),
});
/** A signed payment without a decision of its seller. */
export type KeptPayment = z.output<typeof keptPayment>;

/** The file that keeps the payment of a URL until its seller has decided on it. */
export function keptPaymentFile(url: string): string {
  const name = createHash('sha256').update(url).digest('hex');
  return join(dirname(DEV_FILE), 'x402-payments', `${name}.json`);
}

/** Keeps a payment before it is sent. Throws UsageError if an earlier payment of that URL is kept. */
export function keepPayment(payment: KeptPayment): void {
  const path = keptPaymentFile(payment.url);
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(path, JSON.stringify(payment), { flag: 'wx', mode: 0o600, flush: true });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      refuseSecondPayment(payment.url);
    throw error;
  }
}

/** Throws UsageError if an earlier payment of that URL is kept. */
export function checkNoPaymentKept(url: string): void {
  if (readText(keptPaymentFile(url)) !== null) refuseSecondPayment(url);
}

/** Throws UsageError if no payment of that URL is kept. */
export function readKeptPayment(url: string): KeptPayment {
  const content = readText(keptPaymentFile(url));
  if (content === null) throw new UsageError(`no payment for ${url} is kept: leave out --resume`);
  return keptPayment.parse(JSON.parse(content));
}

export function forgetPayment(url: string): void {
  rmSync(keptPaymentFile(url), { force: true });
}

function refuseSecondPayment(url: string): never {
  const path = keptPaymentFile(url);
  throw new UsageError(
    `an earlier payment for ${url} may have been settled: use --resume to present it again, or delete ${path}`,
  );
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

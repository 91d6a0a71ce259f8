import { SluiceError } from '../client/client.ts';
import { ERROR_KINDS, isDomainError } from '../domain/errors.ts';

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  refused: 3,
  unpaid: 4,
  unavailable: 5,
  differs: 6,
  interrupted: 130,
} as const;

export const EXIT_MEANINGS: Readonly<Record<number, string>> = {
  [EXIT.ok]: 'done; with --wait: finalized',
  [EXIT.failure]: 'unexpected failure; with x402 check <url>: the URL has a fault',
  [EXIT.usage]: 'invalid arguments, settings or terms',
  [EXIT.refused]: 'refused, such as an unknown ID, other terms, a late cancellation or a wrong key',
  [EXIT.unpaid]: 'the withdrawal ended without paying',
  [EXIT.unavailable]: 'unavailable; the same command can succeed later',
  [EXIT.differs]: 'chain and database differ',
  [EXIT.interrupted]:
    'interrupted, or not confirmed; the withdrawal or audit that the command waited for continues',
};

/** Invalid arguments or settings. The message names the field and what was expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Ctrl-C, a signal, or a command that was not confirmed. The message says what continues without this program. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof Interrupted) return EXIT.interrupted;
  if (error instanceof SluiceError) return exitCodeOfStatus(error.status, error.retryable);
  if (isDomainError(error)) return exitCodeOfStatus(ERROR_KINDS[error.code].status, error.retryable);
  return EXIT.failure;
}

function exitCodeOfStatus(status: number, retryable: boolean): number {
  if (retryable) return EXIT.unavailable;
  if (status === 400) return EXIT.usage;
  return status >= 400 && status < 500 ? EXIT.refused : EXIT.failure;
}

import { SluiceError } from '../client/client.ts';
import { ERROR_KINDS, isDomainError } from '../domain/errors.ts';

/** What the exit code of `sluice` says to scripts. */
export const EXIT = {
  ok: 0,
  /** Something unexpected. */
  failure: 1,
  /** Wrong arguments or settings: nothing was asked of the API, or it found the request not valid. */
  usage: 2,
  /** The API refused: unknown id, other terms, too late to cancel, wrong key. */
  refused: 3,
  /** The withdrawal ended without paying: rejected, cancelled or failed. */
  unpaid: 4,
  /** The API, or a service that it needs, cannot be reached: the same command may succeed later. */
  unavailable: 5,
  /** Chain and record say different things. */
  differs: 6,
  /** Stopped by Ctrl-C; a withdrawal that was waited for goes on. */
  interrupted: 130,
} as const;

/** The exit codes in a few words each, for `--help`. */
export const EXIT_MEANINGS: Readonly<Record<number, string>> = {
  [EXIT.ok]: 'done; with --wait: finalized',
  [EXIT.failure]: 'something unexpected',
  [EXIT.usage]: 'wrong arguments, settings or terms',
  [EXIT.refused]: 'refused: unknown id, other terms, too late, wrong key',
  [EXIT.unpaid]: 'the withdrawal ended without paying',
  [EXIT.unavailable]: 'not reachable now; the same command may succeed later',
  [EXIT.differs]: 'chain and record differ',
  [EXIT.interrupted]: 'interrupted; a withdrawal that was waited for goes on',
};

/** Wrong arguments or settings, in a line that names them. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Ctrl-C or a polite signal, in a line that says what goes on without this program. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** The exit code for a failure of a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof Interrupted) return EXIT.interrupted;
  if (error instanceof SluiceError) return byStatus(error.status, error.retryable);
  if (isDomainError(error)) return byStatus(ERROR_KINDS[error.code].status, error.retryable);
  return EXIT.failure;
}

function byStatus(status: number, retryable: boolean): number {
  if (retryable) return EXIT.unavailable;
  if (status === 400) return EXIT.usage;
  return status >= 400 && status < 500 ? EXIT.refused : EXIT.failure;
}

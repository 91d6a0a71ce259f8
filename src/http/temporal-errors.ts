import {
  ServiceError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { DomainError, ERROR_KINDS, type ErrorCode } from '../domain/errors.ts';

/** Converts a Temporal client error to a domain error; null for any other error. */
export function temporalFault(error: unknown): DomainError | null {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    return new DomainError('Unavailable', 'no worker answered in time; repeat the request', {}, error);
  }
  if (error instanceof ServiceError) {
    return new DomainError('Unavailable', 'Temporal does not answer; repeat the request', {}, error);
  }
  return error instanceof WorkflowUpdateFailedError ? domainFailure(error) : null;
}

/**
 * Error handler for starting a stored request, which a worker starts once Temporal answers. Throws Unavailable, so
 * that callers do not treat it as refused. `hint` ends the sentence.
 */
export function refuseAsRecorded(what: string, hint = ''): (error: unknown) => never {
  return (error) => {
    if (temporalFault(error) === null) throw error;
    const message = `Temporal does not answer; ${what} is stored and starts when Temporal answers again${hint}`;
    throw new DomainError('Unavailable', message, {}, error);
  };
}

/** Searches the causes for an ApplicationFailure whose type is one of our codes. */
function domainFailure(error: Error): DomainError | null {
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ApplicationFailure && isCode(cause.type)) {
      return new DomainError(cause.type, cause.message, asContext(cause.details?.[0]), error);
    }
  }
  return null;
}

function isCode(type: string | undefined | null): type is ErrorCode {
  return typeof type === 'string' && Object.hasOwn(ERROR_KINDS, type);
}

function asContext(details: unknown): Readonly<Record<string, unknown>> {
  return typeof details === 'object' && details !== null ? { ...details } : {};
}

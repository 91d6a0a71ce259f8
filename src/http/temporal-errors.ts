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
    return new DomainError(
      'Unavailable',
      'no Temporal worker answered in time; repeat the request',
      {},
      error,
    );
  }
  if (error instanceof ServiceError) {
    return new DomainError('Unavailable', 'Temporal does not answer; repeat the request', {}, error);
  }
  return error instanceof WorkflowUpdateFailedError ? domainFailure(error) : null;
}

/**
 * Returns an error handler for the start of a workflow whose request is stored. If Temporal does not answer, a worker
 * starts the workflow later, so the handler throws Unavailable: callers must not treat the request as refused.
 * `request` names the request in the message, and `hint` ends the message.
 */
export function onStartFailure(request: string, hint = ''): (error: unknown) => never {
  return (error) => {
    if (temporalFault(error) === null) throw error;
    const message = `Temporal does not answer; ${request} is stored and starts when Temporal answers again${hint}`;
    throw new DomainError('Unavailable', message, {}, error);
  };
}

/** Searches the causes for an ApplicationFailure whose type is the code of a domain error. */
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

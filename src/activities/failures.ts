import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { DomainError } from '../domain/errors.ts';

/**
 * The Temporal failure for a DomainError: type = its code, details = its context. Returns any other error unchanged.
 */
export function toFailure(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error;
  return ApplicationFailure.create({
    message: error.message,
    type: error.code,
    nonRetryable: !error.retryable,
    details: [error.context],
  });
}

/** Converts the errors of all activities to Temporal failures. */
export const failureInterceptor: ActivityInboundCallsInterceptor = {
  async execute(input, next) {
    try {
      return await next(input);
    } catch (error) {
      throw toFailure(error);
    }
  },
};

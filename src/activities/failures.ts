import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { DomainError } from '../domain/errors.ts';

/** The failure that Temporal stores for an error: type = the domain code, details = its context. Others pass unchanged. */
export function toFailure(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error;
  return ApplicationFailure.create({
    message: error.message,
    type: error.code,
    nonRetryable: !error.retryable,
    details: [error.context],
  });
}

/** The one place where errors of activities become Temporal failures. */
export const failureInterceptor: ActivityInboundCallsInterceptor = {
  async execute(input, next) {
    try {
      return await next(input);
    } catch (error) {
      throw toFailure(error);
    }
  },
};

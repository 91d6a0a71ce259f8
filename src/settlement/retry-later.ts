import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';

/** An expected wait: retried after `delayMs`, never logged as an error. */
export function notYet(code: string, message: string, delayMs: number): ApplicationFailure {
  return ApplicationFailure.create({
    message,
    type: code,
    nextRetryDelay: delayMs,
    category: ApplicationFailureCategory.BENIGN,
  });
}

import type { ProblemCode } from '../domain/errors.ts';
import type { Problem } from './api.ts';

/** HTTP statuses after which the same call can succeed. Every call of this API is idempotent, so a retry is safe. */
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);

/**
 * Codes of the API, and three of the client. `Unreachable`: no response. `BadAnswer`: a response that is not from this
 * API. `WebhookRefused`: from {@link verifyWebhook}. A newer API can return other codes: handle those by `status`.
 */
export type SluiceErrorCode = ProblemCode | 'Unreachable' | 'BadAnswer' | 'WebhookRefused';

/** A failed call: the API refused it, or did not respond. `status` is 0 without an HTTP response. */
export class SluiceError extends Error {
  override readonly name = 'SluiceError';
  readonly code: SluiceErrorCode;
  readonly status: number;
  readonly problem: Problem | null;

  constructor(
    code: SluiceErrorCode,
    status: number,
    message: string,
    problem: Problem | null = null,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.problem = problem;
  }

  get retryable(): boolean {
    return this.status === 0 || RETRYABLE_STATUS.has(this.status);
  }
}

/** Parses an error response; one without a problem document becomes `BadAnswer`. */
export async function errorOf(response: Response): Promise<SluiceError> {
  const text = await response.text().catch(() => '');
  const problem = parseProblem(text);
  if (problem === null) {
    return new SluiceError(
      'BadAnswer',
      response.status,
      `HTTP ${response.status} without a problem document`,
    );
  }
  return new SluiceError(problem.code as SluiceErrorCode, response.status, problem.detail, problem);
}

function parseProblem(text: string): Problem | null {
  try {
    const value: Partial<Problem> | null = JSON.parse(text);
    return typeof value?.code === 'string' && typeof value.detail === 'string' ? (value as Problem) : null;
  } catch {
    return null;
  }
}

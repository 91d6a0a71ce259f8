import type { Problem } from './types.ts';

/** HTTP answers after which the same call may succeed; every call of this API is idempotent, so asking again is safe. */
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);

/** A call that the API refused or that did not reach it. `status` is 0 where no HTTP answer came. */
export class SluiceError extends Error {
  override readonly name = 'SluiceError';
  /** `TermsConflict`, `NotFound`, ...: the codes of the API; `Unreachable` and `BadAnswer` are the client's own. */
  readonly code: string;
  readonly status: number;
  readonly problem: Problem | null;

  constructor(
    code: string,
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

  /** True where the same call may succeed later. */
  get retryable(): boolean {
    return this.status === 0 || RETRYABLE_STATUS.has(this.status);
  }
}

/** Reads a refused answer; one that is no problem document becomes `BadAnswer`. */
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
  return new SluiceError(problem.code, response.status, problem.detail, problem);
}

function parseProblem(text: string): Problem | null {
  try {
    const value: unknown = JSON.parse(text);
    return isProblem(value) ? value : null;
  } catch {
    return null;
  }
}

function isProblem(value: unknown): value is Problem {
  return (
    typeof value === 'object' &&
    value !== null &&
    'code' in value &&
    typeof value.code === 'string' &&
    'detail' in value &&
    typeof value.detail === 'string'
  );
}

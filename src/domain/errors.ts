/** How an error appears at every border: HTTP status, whether a retry can help, and a sentence for people. */
interface ErrorKind {
  readonly status: number;
  readonly retryable: boolean;
  readonly title: string;
}

/**
 * All domain errors. Codes are public: never rename or reuse one. HTTP returns problem+json with `status`;
 * activities throw ApplicationFailure with `type = code`; the CLI exits non-zero.
 */
export const ERROR_KINDS = {
  InvalidRequest: { status: 400, retryable: false, title: 'The request is not valid' },
  Unauthorized: { status: 401, retryable: false, title: 'The API key is missing or wrong' },
  NotFound: { status: 404, retryable: false, title: 'There is no such resource' },
  MethodNotAllowed: { status: 405, retryable: false, title: 'The path does not have this method' },
  TermsConflict: { status: 409, retryable: false, title: 'The id is taken by a withdrawal with other terms' },
  NotCancellable: { status: 409, retryable: false, title: 'The withdrawal can no longer be cancelled' },
  RecordInDoubt: {
    status: 503,
    retryable: true,
    title: 'The record may not know all that was done: what cannot be taken back waits',
  },
  AlertsUnseen: {
    status: 409,
    retryable: false,
    title: 'An alert that paused the payments was not looked at',
  },
  NotAwaitingConfirmation: {
    status: 409,
    retryable: false,
    title: 'The withdrawal does not wait for a confirmation',
  },
  ForeignWorkflowId: {
    status: 409,
    retryable: false,
    title: 'A withdrawal runs only under the workflow id withdrawal/<id>',
  },
  DestinationRejected: { status: 409, retryable: false, title: 'The destination cannot be paid' },
  AssetRejected: { status: 409, retryable: false, title: 'The asset cannot be used' },
  AmountRejected: { status: 409, retryable: false, title: 'The amount cannot be withdrawn' },
  ScanPaused: { status: 503, retryable: true, title: 'The scan of blocks is paused' },
  ManifestRejected: { status: 409, retryable: false, title: 'The manifest of addresses cannot be trusted' },
  SigningRefused: {
    status: 500,
    retryable: false,
    title: 'The signer refused a message that is not the transfer asked for',
  },
  FeeAboveBound: { status: 503, retryable: true, title: 'The fee is above what one payment may cost' },
  IllegalTransition: { status: 500, retryable: false, title: 'The state machine forbids this step' },
  MessageTaken: { status: 500, retryable: true, title: 'Another attempt already has this exact message' },
  SlotsNotRecorded: { status: 409, retryable: false, title: 'The database does not hold all of these slots' },
  NotRejectable: {
    status: 409,
    retryable: false,
    title: 'The deposit may be true, or has ended: it is not rejected',
  },
  FeedBehind: {
    status: 409,
    retryable: false,
    title: 'The feed has not come so far: the record is older than what was read of it',
  },
  NoFreeAddress: { status: 409, retryable: false, title: 'No deposit address is free: import more' },
  NodeFault: { status: 502, retryable: true, title: 'A Solana node answered with a fault' },
  NoHealthyNode: { status: 503, retryable: true, title: 'No Solana node can answer' },
  WrongCluster: {
    status: 503,
    retryable: true,
    title: 'The Solana nodes belong to another cluster than the record',
  },
  Unavailable: { status: 503, retryable: true, title: 'A service that Sluice needs cannot be reached' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_KINDS;

/** Every error code of the HTTP API. `Internal` is any failure without a code. */
export type ProblemCode = ErrorCode | 'Internal';

/** Codes of errors that no retry of the same call can resolve. */
export const NON_RETRYABLE_CODES: readonly string[] = Object.entries(ERROR_KINDS)
  .filter(([, kind]) => !kind.retryable)
  .map(([code]) => code);

/** An error with a code from {@link ERROR_KINDS}, a sentence that names the field or thing, and JSON-safe context. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;
  readonly context: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    context: Readonly<Record<string, unknown>> = {},
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.context = context;
  }

  get retryable(): boolean {
    return ERROR_KINDS[this.code].retryable;
  }
}

/** True for a DomainError; with `code`, only for one of that code. */
export function isDomainError(error: unknown, code?: ErrorCode): error is DomainError {
  return error instanceof DomainError && (code === undefined || error.code === code);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

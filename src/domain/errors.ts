/** Properties of an error code in every interface: HTTP status, whether a retry can help, and a title for people. */
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
  NotFound: { status: 404, retryable: false, title: 'The resource does not exist' },
  MethodNotAllowed: { status: 405, retryable: false, title: 'The path does not support this method' },
  TermsConflict: {
    status: 409,
    retryable: false,
    title: 'Another withdrawal with different terms has this id',
  },
  NotCancellable: { status: 409, retryable: false, title: 'The withdrawal can no longer be cancelled' },
  DatabaseIncomplete: {
    status: 503,
    retryable: true,
    title: 'The database may lack transactions because of a restore: irreversible steps wait',
  },
  AlertsUnseen: {
    status: 409,
    retryable: false,
    title: 'The resume request does not name every open alert that holds a pause',
  },
  VersionConflict: {
    status: 409,
    retryable: false,
    title: 'Another version is the newest one',
  },
  NotAwaitingConfirmation: {
    status: 409,
    retryable: false,
    title: 'The withdrawal does not await a confirmation',
  },
  ForeignWorkflowId: {
    status: 409,
    retryable: false,
    title: 'A withdrawal workflow must have the id withdrawal/<id>',
  },
  DestinationRejected: { status: 409, retryable: false, title: 'The destination cannot be paid' },
  AssetRejected: { status: 409, retryable: false, title: 'The asset cannot be used' },
  AmountRejected: { status: 409, retryable: false, title: 'The amount cannot be withdrawn' },
  ScanPaused: { status: 503, retryable: true, title: 'The block scan is paused' },
  ManifestRejected: { status: 409, retryable: false, title: 'The address manifest is not trusted' },
  SigningRefused: {
    status: 500,
    retryable: false,
    title: 'The signer refused a message that differs from the requested transfer',
  },
  FeeAboveBound: { status: 503, retryable: true, title: 'The fee exceeds the limit for one payment' },
  IllegalTransition: {
    status: 409,
    retryable: false,
    title: 'The current state does not allow this transition',
  },
  MessageTaken: { status: 500, retryable: true, title: 'Another attempt has the same message' },
  SlotsNotRecorded: {
    status: 409,
    retryable: false,
    title: 'The database does not contain all of these slots',
  },
  NotRejectable: {
    status: 409,
    retryable: false,
    title: 'The deposit cannot be rejected: it is no longer pending, or no quorum of nodes denies it',
  },
  FeedBehind: {
    status: 409,
    retryable: false,
    title: 'The feed has not reached this position: the database is older than the events already read',
  },
  NoFreeAddress: {
    status: 409,
    retryable: false,
    title: 'No unassigned deposit address is left: import more addresses',
  },
  NodeFault: { status: 502, retryable: true, title: 'A Solana node returned an invalid answer' },
  NoHealthyNode: { status: 503, retryable: true, title: 'No healthy Solana node is available' },
  WrongCluster: {
    status: 503,
    retryable: true,
    title: 'The Solana nodes and the database belong to different clusters',
  },
  Unavailable: { status: 503, retryable: true, title: 'A service that Sluice requires is not reachable' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_KINDS;

/** Every error code of the HTTP API. `Internal` stands for any failure without a code. */
export type ProblemCode = ErrorCode | 'Internal';

/** Codes of errors that no retry of the same call can resolve. */
export const NON_RETRYABLE_CODES: readonly string[] = Object.entries(ERROR_KINDS)
  .filter(([, kind]) => !kind.retryable)
  .map(([code]) => code);

/**
 * An error with a code from {@link ERROR_KINDS}, a message that names the affected field or object, and a JSON context.
 */
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

/** True for a DomainError; with `code`, only if the error has this code. */
export function isDomainError(error: unknown, code?: ErrorCode): error is DomainError {
  return error instanceof DomainError && (code === undefined || error.code === code);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

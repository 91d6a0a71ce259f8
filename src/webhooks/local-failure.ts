/** A request that could not be sent through no fault of the receiver: our resolver, network, clock or keys failed. */
export class OwnFault extends Error {
  override readonly name = 'OwnFault';
}

/** Error codes for faults of this machine. An unknown host name or a refused connection is the receiver's. */
const OURS: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_MEMORY',
  'EAI_SYSTEM',
  'ENETDOWN',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
]);

/** True for our own fault; for several addresses, only if all failed by our own fault. */
export function isOwnFault(error: unknown): boolean {
  if (error instanceof OwnFault) return true;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isOwnFault);
  return error instanceof Error && 'code' in error && OURS.has(error.code);
}

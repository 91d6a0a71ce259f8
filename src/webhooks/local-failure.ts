/** Nothing could be sent, and that says nothing of the receiver: our resolver, our network, our clock or our keys are at fault. */
export class OwnFault extends Error {
  override readonly name = 'OwnFault';
}

/**
 * What resolvers and sockets answer where this machine cannot do its part. A name that is not there is the receiver's fault, as is a host
 * that refuses.
 */
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

/** Whether a failed connection is our own fault; of many addresses, where it is so for all. */
export function isOwnFault(error: unknown): boolean {
  if (error instanceof OwnFault) return true;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isOwnFault);
  return error instanceof Error && 'code' in error && OURS.has(error.code);
}

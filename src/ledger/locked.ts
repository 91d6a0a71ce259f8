declare const LOCK: unique symbol;

/**
 * Proof that its holder has a lock: the function that takes the lock returns it, and functions that need the lock
 * require it. Valid until the transaction ends.
 */
export type Locked<Held, Lock extends string> = Held & { readonly [LOCK]: Lock };

declare const LOCK: unique symbol;

/**
 * A value that only the holder of a lock has. The function that takes the lock returns it, and functions that
 * need the lock require it. Valid until the transaction ends.
 */
export type Locked<Held, Lock extends string> = Held & { readonly [LOCK]: Lock };

declare const LOCK: unique symbol;

/**
 * What only the holder of a lock has: made by the function that takes it, demanded by those that need it, good until the transaction
 * ends.
 */
export type Locked<Held, Lock extends string> = Held & { readonly [LOCK]: Lock };

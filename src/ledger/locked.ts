declare const LOCK: unique symbol;

/** Proof that this transaction has a lock: only the function that takes the lock makes it. */
export type Locked<Held, Lock extends string> = Held & { readonly [LOCK]: Lock };

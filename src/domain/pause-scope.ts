/** What a pause stops: every settlement, those of one kind, or every attempt that one wallet is to sign. */
export type PauseScope = 'all' | `kind/${string}` | `wallet/${string}`;

export const EVERYTHING: PauseScope = 'all';

/** The text of a scope as people and programs give it. */
export const PAUSE_SCOPE = /^(all|(kind|wallet)\/[\w-]{1,64})$/;

/** The scopes of the pauses that stop an attempt of this kind with these signers. */
export function scopesOf(kind: string, signers: readonly string[]): readonly PauseScope[] {
  return [EVERYTHING, `kind/${kind}`, ...signers.map((signer): PauseScope => `wallet/${signer}`)];
}

export function isPauseScope(text: string): text is PauseScope {
  return PAUSE_SCOPE.test(text);
}

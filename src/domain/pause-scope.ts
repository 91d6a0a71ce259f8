/** The scope of a pause: all settlements, those of one kind, or attempts that one wallet signs. */
export type PauseScope = 'all' | `kind/${string}` | `wallet/${string}`;

export const EVERYTHING: PauseScope = 'all';

export const PAUSE_SCOPE = /^(all|(kind|wallet)\/[\w-]{1,64})$/;

/** The scopes whose pauses stop an attempt of this kind with these signers. */
export function scopesOf(kind: string, signers: readonly string[]): readonly PauseScope[] {
  return [EVERYTHING, `kind/${kind}`, ...signers.map((signer): PauseScope => `wallet/${signer}`)];
}

export function isPauseScope(text: string): text is PauseScope {
  return PAUSE_SCOPE.test(text);
}

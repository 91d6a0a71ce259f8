import { InvalidArgumentError } from '@commander-js/extra-typings';

/** Reads the value of an option that counts something. */
export function positive(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('a whole number above 0');
  return value;
}

import { userInfo } from 'node:os';
import { InvalidArgumentError } from '@commander-js/extra-typings';
import type { Word } from '../domain/word.ts';
import { UsageError } from './exit.ts';

/** The reason that an operator gives. */
export const WHY_ARGUMENT = ['<why>', 'the reason, kept on record'] as const;

/** The word of the user of this machine. Throws UsageError where it says nothing. */
export function ownWord(why: string): Word {
  if (why.trim() === '') throw new UsageError('say why');
  return { who: userInfo().username, why: why.trim() };
}

/** Positions of alerts, as an argument or option such as `17,18` names them. */
export function positions(text: string): readonly bigint[] {
  const all = text.split(',').map((one) => one.trim());
  if (!all.every((one) => /^[0-9]{1,18}$/.test(one)))
    throw new InvalidArgumentError('It must be whole numbers with commas between them.');
  return all.map(BigInt);
}

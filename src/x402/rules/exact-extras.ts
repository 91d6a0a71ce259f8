import type { DecodedInstruction } from '../../solana/tx/message.ts';
import { MEMO_PROGRAM } from '../../solana/tx/programs.ts';
import { checkOnlyMemo } from './memos.ts';
import { REASONS, type Reason, refuse } from './reasons.ts';

/** Wallets add Lighthouse assertions to transactions that they sign. */
export const LIGHTHOUSE_PROGRAM = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95';

const UNKNOWN: readonly Reason[] = [
  REASONS.unknownFourth,
  REASONS.unknownFifth,
  REASONS.unknownSixth,
  REASONS.unknownSeventh,
];

/**
 * Instructions after the transfer: Lighthouse assertions, and at most one memo without accounts. A `memo` of the
 * terms is required.
 * @throws BrokenRule
 */
export function checkExtras(extras: readonly DecodedInstruction[], memo: string | null): void {
  extras.forEach(({ program, accounts }, index) => {
    const reason = UNKNOWN[index] ?? REASONS.unknownSeventh;
    if (program !== MEMO_PROGRAM && program !== LIGHTHOUSE_PROGRAM)
      refuse(
        reason,
        `instruction ${index + 4} calls ${program}; only memo and Lighthouse may follow the transfer`,
      );
    if (program === MEMO_PROGRAM && accounts.length > 0)
      refuse(reason, `instruction ${index + 4} is a memo with accounts; it must have none`);
  });
  const memos = extras.filter(({ program }) => program === MEMO_PROGRAM).length;
  if (memos > 1) refuse(REASONS.memoCount, `the transaction has ${memos} memos; one is allowed`);
  if (memo !== null) checkOnlyMemo(extras, memo);
}

import type { DecodedInstruction } from '../../solana/tx/message.ts';
import { MEMO_PROGRAM } from '../../solana/tx/programs.ts';
import { REASONS, refuse } from './reasons.ts';

/** Exactly one instruction must be a memo, and equal `memo` in UTF-8 bytes. @throws BrokenRule */
export function checkOnlyMemo(instructions: readonly DecodedInstruction[], memo: string): void {
  const memos = instructions.filter(({ program }) => program === MEMO_PROGRAM);
  const [found] = memos;
  if (found === undefined || memos.length > 1)
    refuse(REASONS.memoCount, `the transaction has ${memos.length} memos; it must have one: ${memo}`);
  if (!Buffer.from(memo, 'utf8').equals(found.data))
    refuse(REASONS.memo, `the memo of the transaction must be ${memo}`);
}

export function hasMemo(instructions: readonly DecodedInstruction[], memo: string): boolean {
  const text = Buffer.from(memo, 'utf8');
  return instructions.some(({ program, data }) => program === MEMO_PROGRAM && text.equals(data));
}

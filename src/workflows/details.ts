import { describeAmount } from '../domain/amount.ts';
import { WAITS_FOR } from '../domain/outlook.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { WithdrawalView } from './messages.ts';

/**
 * The markdown card that the Temporal Web UI shows as current details. Its frame shows three lines and scrolls after them, and a
 * signature fills one: the state and the signature come first.
 */
export function progressCard(terms: WithdrawalTerms, view: WithdrawalView): string {
  const { reason, signature } = view;
  const attempt = signature === null ? '' : `, attempt ${view.attempts}: \`${signature}\``;
  const lines = [
    `**${view.status}**${attempt}`,
    `waits for ${WAITS_FOR[view.status]}`,
    ...(reason === null ? [] : [`reason: ${reason.message} (\`${reason.code}\`)`]),
    `pays ${describeAmount(terms, `\`${terms.asset}\``)} to \`${terms.destination}\``,
  ];
  return lines.join(LINE_BREAK);
}

/** Of markdown: the Web UI joins lines that end otherwise, and parts paragraphs by a line that its frame lacks. */
const LINE_BREAK = '  \n';

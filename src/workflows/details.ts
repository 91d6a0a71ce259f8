import { describeAmount } from '../domain/amount.ts';
import type { WithdrawalStatus, WithdrawalTerms } from '../domain/withdrawal.ts';
import type { WithdrawalView } from './messages.ts';

/** What each state waits for, in an operator's words. */
const WAITS_FOR: Readonly<Record<WithdrawalStatus, string>> = {
  requested: 'a worker to check the destination and compose the transaction',
  awaiting_confirmation: 'the customer: `confirmDestination` or `cancelWithdrawal`',
  awaiting_funds: 'the hot wallet to be funded; it goes on by itself',
  preparing: 'the signer',
  sending: 'a block that carries the transaction; the same bytes are sent again until then',
  confirmed: 'finality',
  held: 'what its reason names: evidence that the nodes do not give yet, or the end of a pause; nothing is signed until then',
  finalized: 'nothing: paid, for ever',
  rejected: 'nothing: it was not paid and never will be',
  cancelled: 'nothing: it was not paid and never will be',
  failed: 'nothing: the transaction failed on chain and paid nothing',
};

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

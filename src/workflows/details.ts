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

/** The markdown card that the Temporal Web UI shows as current details. */
export function progressCard(terms: WithdrawalTerms, view: WithdrawalView): string {
  const lines = [
    `**${view.status}** — waits for ${WAITS_FOR[view.status]}`,
    `- pays: ${terms.amount} base units of ${terms.asset} to \`${terms.destination}\``,
    `- attempts: ${view.attempts}`,
  ];
  if (view.signature !== null) lines.push(`- signature: \`${view.signature}\``);
  if (view.reason !== null) lines.push(`- reason: ${view.reason.message} (\`${view.reason.code}\`)`);
  return lines.join('\n');
}

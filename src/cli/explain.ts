import type { Command } from '@commander-js/extra-typings';
import type { ExplainedAttempt, SettlementExplanation } from '../client/client.ts';
import { describeAmount } from '../domain/amount.ts';
import { apiCommand, call } from './command.ts';
import { renderEvidence } from './evidence.ts';
import { renderAttempt, renderStatus } from './render.ts';

/** Registers `explain <id>`: asks the nodes about a live attempt, or shows the proof of an ended one. Read-only. */
export function registerExplain(parent: Command, what: string, idDescription: string): void {
  apiCommand(
    parent,
    'explain',
    `Query the nodes about ${what} now; show its evidence, missing evidence and next step`,
  )
    .argument('<id>', idDescription)
    .action((settlement, options) =>
      call(options, (sluice) => sluice.settlements.explain(settlement), renderExplanation),
    );
}

function renderExplanation(explanation: SettlementExplanation): string {
  const { id, status, reason, waitsFor, nextStep, terms, attempt, attempts, alerts } = explanation;
  return [
    `${id}  ${renderStatus(status)}`,
    `  waits for  ${waitsFor}`,
    ...(terms === null ? [] : [`  pays       ${describeAmount(terms)} to ${terms.destination}`]),
    ...(reason === null ? [] : [`  reason     ${reason.message} (${reason.code})`]),
    `  next       ${nextStep}`,
    ...alerts.map(({ position, kind, message }) => `  alert ${position}  ${kind}  ${message}`),
    ...attempts.filter(({ n }) => n !== attempt?.n).flatMap(renderAttempt),
    ...(attempt === null ? [] : renderExplainedAttempt(attempt)),
  ].join('\n');
}

function renderExplainedAttempt({
  n,
  state,
  signature,
  blockhash,
  slot,
  verdict,
  reason,
  missing,
  evidence,
}: ExplainedAttempt): string[] {
  const block = slot === null ? '' : `, in slot ${slot}`;
  const label = verdict === 'alive' ? 'to prove dead' : 'missing';
  return [
    `  attempt ${n}  ${state}  ${signature ?? 'not signed yet'}`,
    `    verdict  ${reason === null ? verdict : `${verdict}: ${reason}`}`,
    ...missing.map(({ node, what }) => `    ${label}  ${node === null ? what : `${node}: ${what}`}`),
    `    blockhash ${blockhash}${block}`,
    ...(evidence === null ? [] : renderEvidence(evidence).map((line) => `    ${line}`)),
  ];
}

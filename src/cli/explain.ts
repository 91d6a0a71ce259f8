import type { Command } from '@commander-js/extra-typings';
import type { ExplainedAttempt, SettlementExplanation } from '../client/client.ts';
import { describeAmount } from '../domain/amount.ts';
import { connect } from './connection.ts';
import { renderEvidence } from './evidence.ts';
import { EXIT } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';
import { renderAttempt, renderStatus } from './render.ts';

/** `sluice explain ID`: has the API ask the nodes now, and shows what they tell; once it has ended, the evidence on record. Nothing is sent or signed. */
export function registerExplain(program: Command): void {
  program
    .command('explain')
    .description('ask the nodes now what is known of a settlement, what is missing, and what comes next')
    .argument('<id>', 'id of a withdrawal, or <kind>/<subject> as `sluice settlements` shows it')
    .option(...JSON_OPTION)
    .action((id, options) =>
      run(options, async (output) => {
        const explanation = await connect().settlements.explain(id);
        output.result(explanation, renderExplanation(explanation));
        return EXIT.ok;
      }),
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
    ...(attempt === null ? [] : renderExplained(attempt)),
  ].join('\n');
}

function renderExplained({
  n,
  state,
  signature,
  blockhash,
  slot,
  verdict,
  why,
  missing,
  evidence,
}: ExplainedAttempt): string[] {
  const block = slot === null ? '' : `, in slot ${slot}`;
  const label = verdict === 'alive' ? 'for its death' : 'missing';
  return [
    `  attempt ${n}  ${state}  ${signature ?? 'not signed yet'}`,
    `    verdict  ${why === null ? verdict : `${verdict}: ${why}`}`,
    ...missing.map(({ node, what }) => `    ${label}  ${node === null ? what : `${node}: ${what}`}`),
    `    blockhash ${blockhash}${block}`,
    ...(evidence === null ? [] : renderEvidence(evidence).map((line) => `    ${line}`)),
  ];
}

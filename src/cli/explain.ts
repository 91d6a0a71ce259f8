import type { Command } from '@commander-js/extra-typings';
import type { ExplainedAttempt, Explanation } from '../client/client.ts';
import { connect } from './connection.ts';
import { renderEvidence } from './evidence.ts';
import { EXIT } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';
import { renderStatus } from './render.ts';

/** `sluice explain ID`: has the API ask the nodes now, and shows what they tell; once it has ended, the evidence on record. Nothing is sent or signed. */
export function registerExplain(program: Command): void {
  program
    .command('explain')
    .description('ask the nodes now what is known of a withdrawal, what is missing, and what comes next')
    .argument('<id>', 'id of the withdrawal')
    .option(...JSON_OPTION)
    .action((id, options) =>
      run(options, async (output) => {
        const explanation = await connect().explain(id);
        output.result(explanation, renderExplanation(explanation));
        return EXIT.ok;
      }),
    );
}

function renderExplanation({ id, status, reason, waitsFor, nextStep, attempt }: Explanation): string {
  return [
    `${id}  ${renderStatus(status)}`,
    `  waits for  ${waitsFor}`,
    ...(reason === null ? [] : [`  reason     ${reason.message} (${reason.code})`]),
    `  next       ${nextStep}`,
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

import type { PaymentDetails } from '../client/client.ts';
import { formatUnits } from '../domain/amount.ts';
import { isTerminal } from '../domain/settlement.ts';
import { renderAttempt, renderStatus } from './render.ts';

/** What happened to a payment: price, buyer, times, access pass, settlement, attempts and alerts. */
export function renderPayment(payment: PaymentDetails): string {
  const { id, state, reason, amount, asset, payTo, payer, route, seller, dialect, attempts, alerts } =
    payment;
  return [
    `${id}  ${state}`,
    line('pays', `${inToken(payment, amount)} of ${asset} to ${payTo}`),
    ...receivedLine(payment),
    line('payer', payer),
    line('route', `${route} of the ${seller}, form ${dialect}`),
    ...(reason === null ? [] : [line('reason', reason)]),
    ...(payment.replacedBy === null ? [] : [line('instead', payment.replacedBy)]),
    ...timeLines(payment),
    ...passLines(payment),
    ...settlementLines(payment),
    ...attempts.flatMap(renderAttempt),
    ...(attempts.length === 0 && payment.signature !== null ? [line('signature', payment.signature)] : []),
    ...alerts.map(({ position, kind, message }) => `  alert ${position}  ${kind}  ${message}`),
  ].join('\n');
}

function line(name: string, value: string): string {
  return `  ${name.padEnd(9)}  ${value}`;
}

function inToken({ decimals }: PaymentDetails, units: string): string {
  return `${formatUnits(BigInt(units), decimals)} (${units} base units)`;
}

function receivedLine(payment: PaymentDetails): readonly string[] {
  const { received, amount } = payment;
  return received === null || received === amount ? [] : [line('received', inToken(payment, received))];
}

function timeLines(payment: PaymentDetails): readonly string[] {
  const answer = payment.answerStatus === null ? '' : `, with status ${payment.answerStatus}`;
  const times: readonly (readonly [name: string, at: string | null, note?: string])[] = [
    ['created', payment.createdAt],
    ['confirmed', payment.paidAt],
    ['finalized', payment.settledAt],
    ['failed', payment.failedAt],
    ['upstream', payment.askedAt, ' (first call)'],
    ['served', payment.servedAt, answer],
  ];
  return times
    .flatMap(([name, at, note = '']) => (at === null ? [] : [{ at, text: line(name, `${at}${note}`) }]))
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
    .map(({ text }) => text);
}

function passLines({ accessPass, passRevocation: revocation }: PaymentDetails): readonly string[] {
  return [
    ...(accessPass === null ? [] : [line('pass', `for ${accessPass.path}, until ${accessPass.expiresAt}`)]),
    ...(revocation === null
      ? []
      : [line('revoked', `${revocation.revokedAt} by ${revocation.actor}: ${revocation.reason}`)]),
  ];
}

/** A payment that ends in time has no workflow (decision 25), so an ended one gets no line about it. */
function settlementLines({ settlement, state }: PaymentDetails): readonly string[] {
  if (settlement === null) return [line('settled', 'no: Sluice never sent this transaction')];
  const { status, reason, workflowId } = settlement;
  const why = reason === null ? '' : `: ${reason.message} (${reason.code})`;
  const isEnded = isTerminal(status) && state !== 'owed';
  return [
    line('status', `${renderStatus(status)}${why}`),
    ...(isEnded ? [] : [line('workflow', `${workflowId}, if the payment needed one`)]),
  ];
}

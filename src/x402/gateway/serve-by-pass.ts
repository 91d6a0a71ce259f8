import { randomUUID } from 'node:crypto';
import type { AccessPass } from '../../ledger/x402/access-passes.ts';
import { forwardableRefusal, reasonOf, retryAfterOf, type UpstreamAnswer } from '../upstream.ts';
import { answerByPass, jsonAnswer, type LabelledAnswer, labelled, tooManyPayments } from './answers.ts';
import { upstreamOptionsOf } from './deliver.ts';
import type { Sale, SaleDeps } from './sale.ts';

/**
 * Responds to a request without a payment that presents an access pass or signs in. Null if it does neither. A pass buys
 * any number of requests, so each one is a new request to the upstream, and the payment is not changed.
 */
export async function serveByPass(
  deps: SaleDeps,
  sale: Sale,
  askToPay: (error: string, fields: object) => Promise<LabelledAnswer>,
): Promise<LabelledAnswer | null> {
  if (!deps.passes.isClaimed(sale)) return null;
  const seconds = deps.takePaymentToken(sale.limitedAddress);
  if (seconds > 0) return tooManyPayments(seconds);
  const access = await deps.passes.accessOf(sale);
  if (access.kind === 'refused')
    return labelled(await askToPay(access.error, { details: access.details }), 'refused', access.error);
  const answer = await askForHolder(deps, sale, access.pass);
  const shown = answer.kind === 'none' ? null : forwardableRefusal(answer);
  if (shown !== null) return labelled(answerByPass(shown, access.issued), 'access_pass');
  const body = {
    error: 'the access pass is valid, but the resource cannot be served now',
    details: reasonOf(answer),
  };
  return labelled(jsonAnswer(502, body, { 'retry-after': retryAfterOf(answer) ?? '2' }), 'unavailable');
}

async function askForHolder(
  { upstream }: SaleDeps,
  { route, request }: Sale,
  { payment }: AccessPass,
): Promise<UpstreamAnswer> {
  if (request !== null)
    return upstream({ request, payment, isPaid: true, passUse: randomUUID() }, upstreamOptionsOf(route));
  return route.answer === null
    ? { kind: 'none', reason: 'the route has neither an upstream nor an answer' }
    : { kind: 'whole', ...route.answer };
}

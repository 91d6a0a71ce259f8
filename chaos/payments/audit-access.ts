import { decodeJwt } from 'jose';
import type { Payment } from '../../src/client/client.ts';
import type { AccessUse } from './access.ts';
import type { PaymentEvidence } from './audit.ts';
import { isForbidden } from './plan.ts';
import type { ItemRequest } from './upstream.ts';

/** The requests without a payment, compared with the requests at the upstream. */
export interface AccessAudit {
  /** Requests that the upstream answered for an access pass or a sign-in. */
  readonly passes: number;
  /** Answers to a forged pass, or to a wallet that has not paid. */
  readonly unpaidAnswers: number;
  /** One line for each thing that is wrong. */
  readonly findings: readonly string[];
}

/**
 * Judges the requests without a payment, and the passes that buyers got. A pass is that of a landed, served payment, and
 * each request by it has an Idempotency-Key of its own. `landed`: signatures of all landed payments.
 */
export function auditAccess(
  { bought, record, requests, uses }: PaymentEvidence,
  landed: ReadonlySet<string>,
): AccessAudit {
  const paid = record.filter(({ state, signature }) => state === 'served' && landed.has(signature ?? ''));
  const bySubject = new Map(uses.map((use) => [use.subject, use]));
  const asked = requests.flatMap((request) => {
    const use = bySubject.get(request.subject);
    return use === undefined ? [] : [{ request, use }];
  });
  const keys = new Set(asked.map(({ request }) => request.idempotencyKey));
  return {
    passes: asked.filter(({ request }) => request.status === 200).length,
    unpaidAnswers: uses.filter(({ access, end }) => isForbidden(access) && end === 'served').length,
    findings: [
      ...bought.flatMap(({ pass, purchase }) =>
        pass === null || paid.some(({ id }) => id === paymentOf(pass))
          ? []
          : [
              `buyer ${purchase.item} has the access pass of ${paymentOf(pass)}, which is not paid and served`,
            ],
      ),
      ...uses.filter((use) => use.end !== (isForbidden(use.access) ? 'refused' : 'served')).map(undecided),
      ...asked.flatMap(({ request, use }) => requestFindings(request, use, paid)),
      ...(keys.size === asked.length ? [] : ['requests by access passes have an Idempotency-Key in common']),
    ],
  };
}

function undecided({ subject, end, last }: AccessUse): string {
  return `the request for ${subject} ended as ${end}: ${last}`;
}

function requestFindings(
  { paymentId, idempotencyKey }: ItemRequest,
  { access, pass, subject, purchase }: AccessUse,
  paid: readonly Payment[],
): readonly string[] {
  const name = `the upstream got a request for ${subject} by payment ${paymentId}`;
  if (isForbidden(access)) return [`${name}, which must not be served`];
  const payment = paid.find(({ id }) => id === paymentId);
  const isOfRoute = payment?.route === `GET /${purchase.flow}`;
  const isOfPass = access === 'sign-in' || paymentId === paymentOf(pass);
  return [
    ...(isOfRoute && isOfPass ? [] : [`${name}, which does not permit it`]),
    ...(idempotencyKey === null || idempotencyKey === paymentId
      ? [`${name}, with the Idempotency-Key ${idempotencyKey}`]
      : []),
  ];
}

/** Id of the payment that bought a pass. */
function paymentOf(pass: string): string | undefined {
  return decodeJwt(pass).jti;
}

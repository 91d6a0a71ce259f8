import { idOf } from '../record.ts';
import type { Refused } from '../terms.ts';
import { admit } from './admission.ts';
import type { Facilitator } from './facilitator.ts';
import { refusalOf } from './record.ts';
import type { FacilitatorRequest } from './request.ts';

export type Verified = { readonly ok: true; readonly payer: string } | ({ readonly ok: false } & Refused);

/**
 * Whether `/settle` would succeed. Simulates once for a payment that is not recorded, and never for a recorded one:
 * a server that lost the first response verifies again before it settles again.
 */
export async function verify(
  facilitator: Facilitator,
  request: FacilitatorRequest,
  key: string | null,
): Promise<Verified> {
  const { deps, examiner } = facilitator;
  const examined = await examiner.examine(request);
  if (!examined.ok) return examined;
  const { order } = examined;
  const { payer } = order.payment;
  const onRecord = async (): Promise<Verified | null> => {
    const known = await deps.ledger.payments.find(idOf(order));
    if (known === undefined) return null;
    const refusal = await refusalOf(deps, known, key);
    return refusal === null ? { ok: true, payer } : { ok: false, ...refusal };
  };
  const known = await onRecord();
  if (known !== null) return known;
  const admission = await admit(facilitator, order);
  switch (admission.kind) {
    case 'admitted':
      return { ok: true, payer };
    case 'refused': {
      const { reason, message } = admission;
      return { ok: false, reason, message, payer };
    }
    case 'landed':
      return (
        (await onRecord()) ?? {
          ok: false,
          reason: 'duplicate_settlement',
          message: 'the transaction was on the chain before it was shown to this facilitator',
          payer,
        }
      );
  }
}

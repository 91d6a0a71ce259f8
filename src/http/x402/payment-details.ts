import { z } from 'zod';
import type { ExplorerSettings } from '../../domain/explorer.ts';
import { settlementWorkflowId } from '../../domain/ids.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { text, textOrNull, time } from '../schemas.ts';
import { AttemptBody, presentAttempt } from '../settlements/attempts.ts';
import { AlertOfSettlement } from '../settlements/explanation.ts';
import { settlementFields } from '../settlements/settlements.ts';

const { status, reason, updatedAt } = settlementFields;

/** Fields of a single payment that its list does not have. */
export const PaymentDetailsFields = {
  replacedBy: textOrNull('Id of the owed payment that was served in place of settling this one; else null'),
  askedAt: time
    .nullable()
    .describe(
      'Time at which the upstream was first called; null until then, and if the first call of a repeatable request has served the payment',
    ),
  failedAt: time
    .nullable()
    .describe('Time at which the failure of the transaction on chain was final; null if it did not fail'),
  settlement: z
    .object({
      status,
      reason,
      updatedAt,
      workflowId: text('Id of the Temporal workflow of the payment, if it needs one'),
    })
    .nullable()
    .describe('Settlement of the payment; null if Sluice did not settle it'),
  accessPass: z
    .object({
      path: text('Path for which the pass is valid, on the route of the payment'),
      issuedAt: time.describe('Time at which the pass was issued'),
      expiresAt: time.describe('Time at which the pass ends'),
    })
    .nullable()
    .describe('Access pass of the payment; null if none was issued'),
  passRevocation: z
    .object({
      actor: text('Name of the API key that revoked the pass'),
      reason: text('Reason of the revocation'),
      revokedAt: time.describe('Time of the revocation'),
    })
    .nullable()
    .describe(
      'Revocation of the access pass, also of one that is not issued yet; null if the pass is not revoked',
    ),
  attempts: z.array(AttemptBody).readonly().describe('Attempts, oldest first'),
  alerts: z.array(AlertOfSettlement).readonly().describe('Open alerts about this payment, newest first'),
};

export async function detailsOf(
  ledger: Ledger,
  { id, replacedBy, askedAt, failedAt }: PaymentRow,
  explorer: ExplorerSettings,
) {
  const [settlement, attempts, alerts, accessPass, passRevocation] = await Promise.all([
    ledger.settlements.find(id),
    ledger.attempts.of(id),
    ledger.alerts.listOpenAbout(id),
    ledger.accessPasses.find(id),
    ledger.accessPasses.revocationOf(id),
  ]);
  return {
    replacedBy,
    askedAt,
    failedAt,
    settlement:
      settlement === undefined ? null : { ...settlement, workflowId: settlementWorkflowId(settlement) },
    accessPass,
    passRevocation,
    attempts: attempts.map((attempt) => presentAttempt(attempt, explorer)),
    alerts,
  };
}

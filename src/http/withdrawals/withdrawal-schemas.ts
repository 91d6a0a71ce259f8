import { z } from 'zod';
import { MEMO_MAX_BYTES, WITHDRAWAL_ID, WITHDRAWAL_STATUSES } from '../../domain/withdrawal.ts';
import { addressParam, amountPattern, assetParam, decimal, text, textOrNull, time } from '../schemas.ts';
import { AttemptBody } from '../settlements/attempts.ts';

const baseUnits = z.string().meta({
  description: 'Base units (lamports, or the token’s smallest unit) as a decimal string, 1 to 2^64-1',
  pattern: amountPattern,
  examples: ['1500000000'],
});

/** OpenAPI schema of POST /v1/withdrawals. `checkTerms` validates the request. */
export const TermsBody = z
  .strictObject({
    id: z.string().meta({
      description: 'Your id for the withdrawal. It is permanent: one id is paid at most once',
      pattern: WITHDRAWAL_ID.source,
    }),
    asset: assetParam,
    amount: baseUnits,
    destination: addressParam.meta({
      description: 'Address of the wallet of the receiver, 32 bytes in base58; never a token account',
      examples: ['9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin'],
    }),
    acceptEmptyWallet: z.boolean().optional().meta({
      description: 'Whether a destination wallet that holds nothing is paid without a confirmation',
      default: false,
    }),
    memo: z
      .string()
      .optional()
      .meta({
        description: `Memo of the transaction, 1 to ${MEMO_MAX_BYTES} bytes of UTF-8; public on chain`,
        minLength: 1,
        maxLength: MEMO_MAX_BYTES,
        pattern: '^[^\\u0000]+$',
      }),
  })
  .meta({ id: 'WithdrawalTerms' });

export const Status = z.enum(WITHDRAWAL_STATUSES).meta({ id: 'WithdrawalStatus' });

export const Reason = z
  .object({
    code: text('Stable identifier of the reason, for programs'),
    message: text('Explanation of the reason, for display'),
  })
  .meta({ id: 'StatusReason' })
  .nullable()
  .describe('Reason for the current status; null if the status needs no reason');

export const termsFields = {
  asset: text('`SOL` or the address of a mint'),
  amount: decimal(baseUnits).describe('Amount in base units that the hot wallet sends'),
  destination: text('Address of the wallet of the receiver'),
};

const summaryFields = {
  id: text('Your id for the withdrawal'),
  status: Status.describe('Current status of the withdrawal'),
  reason: Reason,
  ...termsFields,
  amountReceived: decimal(z.string())
    .nullable()
    .describe(
      'Base units that the receiver got; less than `amount` if the token has a transfer fee. Null until the withdrawal is finalized',
    ),
  acceptEmptyWallet: z
    .boolean()
    .describe('Whether a destination wallet that holds nothing is paid without a confirmation'),
  memo: textOrNull('Memo of the transaction; null if there is none'),
  confirmedByCustomer: z.boolean().describe('Whether the customer has confirmed the destination'),
  workflowId: text('Id of the Temporal workflow that pays the withdrawal'),
  createdAt: time.describe('Time at which the withdrawal was created'),
  updatedAt: time.describe('Time at which the withdrawal last changed'),
  links: z
    .object({
      self: text('Path of the withdrawal'),
      confirm: text('Path for the POST request that confirms the destination'),
      cancel: text('Path for the POST request that cancels the withdrawal'),
    })
    .describe('Paths of further requests about the withdrawal'),
};

export const SummaryBody = z.object(summaryFields).meta({ id: 'WithdrawalSummary' });

export const WithdrawalBody = z
  .object({ ...summaryFields, attempts: z.array(AttemptBody).readonly().describe('Attempts, oldest first') })
  .meta({ id: 'Withdrawal' });

export const IdParams = z.object({ id: z.string().regex(WITHDRAWAL_ID) });

const visibleText = z.string().regex(/^[\x21-\x7e]{1,512}$/);

export const listFilter = {
  status: z.enum(WITHDRAWAL_STATUSES).optional(),
  asset: visibleText.optional(),
  destination: visibleText.optional(),
};

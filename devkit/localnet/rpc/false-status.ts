import type { TransactionError } from '../chain/vm-errors.ts';

/** What a node reports falsely of a signature that is not finalized: that it is confirmed, finalized, or finalized with an error. */
export const STATUS_LIES = ['confirmed', 'finalized', 'failed'] as const;

export type StatusLie = (typeof STATUS_LIES)[number];

const TRANSFER_FAILED: TransactionError = { InstructionError: [2, { Custom: 1 }] };

/** The status of a signature at `slot`, as a node reports it that tells this lie. */
export function falseStatus(lie: StatusLie, slot: number): Record<string, unknown> {
  const err = lie === 'failed' ? TRANSFER_FAILED : null;
  return {
    confirmationStatus: lie === 'confirmed' ? 'confirmed' : 'finalized',
    confirmations: lie === 'confirmed' ? 1 : null,
    err,
    slot,
    status: err === null ? { Ok: null } : { Err: err },
  };
}

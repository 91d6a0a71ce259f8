import { X402 } from '../../domain/payment.ts';
import { WITHDRAWAL } from '../../domain/settlement.ts';
import type { Kinds } from '../webhooks/subject-events.ts';
import { withdrawalEvents } from '../withdrawals/withdrawal-events.ts';
import { paymentEvents } from '../x402/payment-events.ts';

export const KINDS: Kinds = { [WITHDRAWAL]: withdrawalEvents, [X402]: paymentEvents };

import { X402 } from '../domain/payment.ts';
import { WITHDRAWAL } from '../domain/settlement.ts';
import { paymentEvents } from './payment-events.ts';
import type { Kinds } from './subject-events.ts';
import { withdrawalEvents } from './withdrawal-events.ts';

/** The kinds of settlements that have something to do for their subjects. */
export const KINDS: Kinds = { [WITHDRAWAL]: withdrawalEvents, [X402]: paymentEvents };

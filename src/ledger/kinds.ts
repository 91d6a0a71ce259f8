import { WITHDRAWAL } from '../domain/settlement.ts';
import type { Kinds } from './subject-events.ts';
import { withdrawalEvents } from './withdrawal-events.ts';

/** The kinds of settlements that have something to do for their subjects. */
export const KINDS: Kinds = { [WITHDRAWAL]: withdrawalEvents };

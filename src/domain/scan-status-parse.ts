import { type Fields, isFields } from './fields.ts';
import {
  GOING_ON,
  type ScanCursor,
  type ScanPosition,
  type ScanRange,
  type ScanStatus,
  STANDING_STILL,
  UNTOLD,
} from './scan.ts';

/** Parses an untrusted status from a signal or heartbeat. Null if a required field is missing. */
export function parseScanStatus(report: unknown): ScanStatus | null {
  const position = isFields(report) ? positionIn(report) : null;
  if (!isFields(report) || position === null) return null;
  const { state, actor, reason, since, gap } = report;
  if (isOneOf(GOING_ON, state) || isOneOf(UNTOLD, state)) return { ...position, state };
  if (typeof reason !== 'string' || !isTime(since)) return null;
  const still = { ...position, reason, since };
  if (isOneOf(STANDING_STILL, state)) return { ...still, state };
  if (state === 'paused' && typeof actor === 'string') return { ...still, state, actor };
  if (state === 'gap' && isRange(gap)) return { ...still, state, gap: { from: gap.from, to: gap.to } };
  return null;
}

function positionIn({ cursor, tip, lag, blocksPerSecond, at }: Fields): ScanPosition | null {
  if (cursor !== null && !isCursor(cursor)) return null;
  if (!isSlotOrNull(tip) || !isSlotOrNull(lag)) return null;
  if (blocksPerSecond !== null && typeof blocksPerSecond !== 'number') return null;
  if (at !== null && !isTime(at)) return null;
  return { cursor, tip, lag, blocksPerSecond, at };
}

function isCursor(given: unknown): given is ScanCursor {
  return (
    isFields(given) &&
    isSlot(given['slot']) &&
    typeof given['blockhash'] === 'string' &&
    isSlot(given['height'])
  );
}

function isRange(given: unknown): given is ScanRange {
  return isFields(given) && isSlot(given['from']) && isSlot(given['to']);
}

/** A decimal string of at most 20 digits: any u64, or slightly more. */
function isSlot(given: unknown): given is string {
  return typeof given === 'string' && /^[0-9]{1,20}$/.test(given);
}

function isSlotOrNull(given: unknown): given is string | null {
  return given === null || isSlot(given);
}

function isTime(given: unknown): given is string {
  return typeof given === 'string' && !Number.isNaN(Date.parse(given));
}

function isOneOf<Word>(words: readonly Word[], given: unknown): given is Word {
  return words.some((word) => word === given);
}

import type { KindTexts } from './attempt-progress.ts';
import { WITHDRAWAL_TEXTS } from './withdrawal-texts.ts';

export const WITHDRAWAL = 'withdrawal';

export const X402 = 'x402';

/** Kind of settlements that create a nonce account; their subject is its address. */
export const NONCE_CREATE = 'nonce-create';

/** Kind of settlements that consume one nonce with an advance instruction only; see {@link advanceSubject}. */
export const NONCE_ADVANCE = 'nonce-advance';

/** What every process knows about a kind of settlement. It has no I/O, so that workflows can read it too. */
export interface KindDefinition {
  /** True if the workflow of a settlement accepts the updates `confirmDestination` and `cancelWithdrawal`. */
  readonly hasCustomer?: true;
  readonly texts: KindTexts;
}

/**
 * Registers every kind of settlement. The parts of a kind that need I/O are listed in `settlement/kind.ts`. Each part
 * is an entry in a record over {@link SettlementKind}, so that a kind without one does not compile.
 */
const KINDS = {
  [WITHDRAWAL]: { hasCustomer: true, texts: WITHDRAWAL_TEXTS },
  [X402]: { texts: {} },
  [NONCE_CREATE]: { texts: {} },
  [NONCE_ADVANCE]: { texts: {} },
} as const satisfies Readonly<Record<string, KindDefinition>>;

export type SettlementKind = keyof typeof KINDS;

/** The kind whose ids have no prefix. The callers of the API choose these ids, and they contain no slash. */
const KIND_WITHOUT_PREFIX: SettlementKind = WITHDRAWAL;

const KINDS_BY_NAME: ReadonlyMap<string, KindDefinition> = new Map(Object.entries(KINDS));

/** A kind that this version does not know has the common texts: a newer version can have stored its settlements. */
const UNKNOWN_KIND: KindDefinition = { texts: {} };

export function definitionOf(kind: string): KindDefinition {
  return KINDS_BY_NAME.get(kind) ?? UNKNOWN_KIND;
}

/**
 * The id of a settlement: `<kind>/<subject>`, or the subject for {@link KIND_WITHOUT_PREFIX}. So ids of two kinds never
 * collide. `subject` is unique within its kind.
 */
export function settlementId(kind: string, subject: string): string {
  return kind === KIND_WITHOUT_PREFIX ? subject : `${kind}/${subject}`;
}

export function kindOfSettlement(id: string): string {
  const [kind, subject] = id.split('/');
  return kind === undefined || subject === undefined ? KIND_WITHOUT_PREFIX : kind;
}

/**
 * A nonce account and the one nonce to consume, so that a late request cannot invalidate the attempt of a later nonce.
 */
export interface ConsumedNonce {
  readonly address: string;
  readonly nonce: string;
}

/** Subject of a `nonce-advance` settlement: `<address>/<nonce>`, both base58. */
export function advanceSubject({ address, nonce }: ConsumedNonce): string {
  return `${address}/${nonce}`;
}

export function readAdvanceSubject(subject: string): ConsumedNonce {
  const [address = '', nonce = ''] = subject.split('/');
  return { address, nonce };
}

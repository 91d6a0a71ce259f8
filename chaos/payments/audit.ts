import type { Payment } from '../../src/client/client.ts';
import type { AccessUse } from './access.ts';
import { auditAccess } from './audit-access.ts';
import type { Bought } from './buyer.ts';
import type { ItemRequest } from './upstream.ts';

/** One transfer of the price to the seller's token account, from a finalized block. */
export interface LandedTransfer {
  /** All signatures of the transaction; the first is its id. */
  readonly signatures: readonly string[];
}

export interface PaymentEvidence {
  readonly landed: readonly LandedTransfer[];
  readonly bought: readonly Bought[];
  readonly record: readonly Payment[];
  readonly requests: readonly ItemRequest[];
  /** Requests without a payment, by access passes and sign-ins. */
  readonly uses: readonly AccessUse[];
}

/** The sales of a run, compared with the blocks and with the requests at the upstream. */
export interface PaymentAudit {
  /** Payments that landed. */
  readonly made: number;
  /** Of those, payments whose buyer has the item, or whose row is `served`. */
  readonly served: number;
  /** Of those, payments that are not served and whose row is `refundable`. */
  readonly refundable: number;
  /** Answers with the item for which no payment of their subject landed, and those to a forged or foreign access. */
  readonly unpaidAnswers: number;
  /** Landed payments that are neither served nor recorded as owed, refundable or unmatched. */
  readonly lost: number;
  /**
   * Payments for which the upstream answered two requests, or one that must not be repeated more than once; and
   * payments for which the facilitator returned two successes to callers without an Idempotency-Key.
   */
  readonly servedTwice: number;
  /** Requests that the upstream answered for an access pass or a sign-in. No payment is served by one of them. */
  readonly passes: number;
}

export interface PaymentVerdict {
  readonly payments: PaymentAudit;
  /** One line for each thing that is wrong. */
  readonly findings: readonly string[];
}

/** A landed payment with its buyer and its row. */
interface Sold {
  readonly signature: string;
  readonly buyer: Bought | undefined;
  readonly row: Payment | undefined;
}

const ACCOUNTED_FOR: ReadonlySet<string> = new Set(['owed', 'refundable', 'unmatched']);
const MONEY_MOVED: ReadonlySet<string> = new Set(['served', ...ACCOUNTED_FOR]);

/** Judges the sales of a run from the payments in its blocks. */
export function auditPayments(all: PaymentEvidence): PaymentVerdict {
  const withoutPayment = new Set(all.uses.map(({ subject }) => subject));
  const evidence = { ...all, requests: all.requests.filter(({ subject }) => !withoutPayment.has(subject)) };
  const { bought, record } = evidence;
  const sold = soldOf(evidence);
  const landed = new Set(evidence.landed.flatMap(({ signatures }) => signatures));
  const unpaid = bought.filter((one) => one.end.kind === 'answered' && !isPaid(one, sold));
  const lost = sold.filter((one) => !isServed(one) && !ACCOUNTED_FOR.has(one.row?.state ?? ''));
  const access = auditAccess(all, landed);
  const twice = servedTwice(evidence);
  return {
    payments: {
      made: sold.length,
      served: sold.filter(isServed).length,
      refundable: sold.filter((one) => !isServed(one) && one.row?.state === 'refundable').length,
      unpaidAnswers: unpaid.length + access.unpaidAnswers,
      lost: lost.length,
      servedTwice: twice.length,
      passes: access.passes,
    },
    findings: [
      ...unpaid.map((one) => `${nameOf(one)} has the item, and no payment of it landed: ${one.last}`),
      ...sold.flatMap(soldFindings),
      ...bought.flatMap((one) => buyerFindings(one, sold)),
      ...paidTwice(sold),
      ...rowsWithoutMoney(record, landed),
      ...deliveryFindings(evidence, landed),
      ...twice,
      ...access.findings,
    ],
  };
}

function soldOf({ landed, bought, record }: PaymentEvidence): readonly Sold[] {
  const buyers = new Map(bought.flatMap((buyer) => buyer.signatures.map((one) => [one, buyer] as const)));
  const rows = new Map(record.map((row) => [row.signature, row]));
  return landed.map(({ signatures }) => {
    const [signature = ''] = signatures;
    const buyer = signatures.map((one) => buyers.get(one)).find((one) => one !== undefined);
    return { signature, buyer, row: rows.get(signature) };
  });
}

/**
 * True if the payment that the answer names has landed and is for the same subject. It can be an earlier one of the same
 * wallet, which was owed and is served in place of the buyer's own.
 */
function isPaid({ end, purchase }: Bought, sold: readonly Sold[]): boolean {
  const paidBy = end.kind === 'answered' ? end.paidBy : null;
  return sold.some(
    ({ signature, buyer }) => signature === paidBy && buyer?.purchase.subject === purchase.subject,
  );
}

function isServed({ buyer, row }: Sold): boolean {
  return buyer?.end.kind === 'answered' || row?.state === 'served';
}

function soldFindings(sold: Sold): readonly string[] {
  const { signature, buyer, row } = sold;
  const name = `payment ${signature} of ${buyer === undefined ? 'no buyer' : nameOf(buyer)}`;
  const state = `${row?.state ?? 'not recorded'}${row?.reason ? `: ${row.reason}` : ''}`;
  if (buyer === undefined) return [`${name} landed; its row is ${state}`];
  if (row?.state === 'served' || isRefundable(sold)) return [];
  return [`${name} landed; its row is ${state}; the buyer's last answer: ${buyer.last}`];
}

/** True for a payment whose request the upstream may have received, and which the route forbids to repeat. */
function isRefundable({ buyer, row }: Sold): boolean {
  return row?.state === 'refundable' && buyer?.purchase.flow === 'post-once';
}

/** Every buyer that follows the protocol must have its item at the end, or a payment that can be refunded. */
function buyerFindings(bought: Bought, sold: readonly Sold[]): readonly string[] {
  const { end, last, signatures } = bought;
  switch (end.kind) {
    case 'answered':
      return [];
    case 'none':
      return [`${nameOf(bought)} has no decision after ${signatures.length} payments: ${last}`];
    case 'refused':
      if (sold.some((one) => one.buyer === bought && isRefundable(one))) return [];
      return [`${nameOf(bought)} did not get its item: ${end.reason}`];
    case 'wrong':
      return [`${nameOf(bought)} did not get its item: ${end.reason}`];
  }
}

function paidTwice(sold: readonly Sold[]): readonly string[] {
  const payments = grouped(sold, ({ buyer }) => buyer);
  return [...payments].flatMap(([buyer, all]) =>
    buyer === undefined || all.length < 2
      ? []
      : [`${nameOf(buyer)} paid ${all.length} times: ${all.map(({ signature }) => signature).join(' ')}`],
  );
}

function grouped<T, Key>(all: readonly T[], keyOf: (one: T) => Key): ReadonlyMap<Key, readonly T[]> {
  const groups = new Map<Key, T[]>();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

function rowsWithoutMoney(record: readonly Payment[], landed: ReadonlySet<string>): readonly string[] {
  return record
    .filter(({ state, signature }) => MONEY_MOVED.has(state) && !landed.has(signature ?? ''))
    .map(
      ({ id, state, signature }) => `${id} is ${state}, and ${signature ?? 'no transaction'} did not land`,
    );
}

/** Each request at the upstream names one payment, equally in both headers. Except in the flow `serve-first`, that payment has landed. */
function deliveryFindings(
  { requests, bought, record }: PaymentEvidence,
  landed: ReadonlySet<string>,
): readonly string[] {
  const flows = new Map(bought.map(({ purchase }) => [purchase.subject, purchase.flow]));
  const paid = new Set(record.filter(({ signature }) => landed.has(signature ?? '')).map(({ id }) => id));
  return requests.flatMap(({ subject, paymentId, idempotencyKey, status }) => {
    const name = `the upstream got a request for item ${subject} with payment ${paymentId}`;
    if (paymentId === null || paymentId !== idempotencyKey)
      return [`${name}, Idempotency-Key ${idempotencyKey}`];
    if (status === 400) return [`${name}, and not the method and body of its buyer`];
    return paid.has(paymentId) || flows.get(subject) === 'serve-first' ? [] : [`${name}, which did not land`];
  });
}

/** One line for each payment that was served more than once. */
function servedTwice({ requests, bought }: PaymentEvidence): readonly string[] {
  const once = new Set(
    bought.flatMap(({ purchase: { flow, subject } }) => (flow === 'post-once' ? [subject] : [])),
  );
  const ofUpstream = [...grouped(requests, ({ paymentId }) => paymentId)].flatMap(([paymentId, all]) => {
    const subjects = [...new Set(all.map(({ subject }) => subject))];
    const isRepeated = all.length > 1 && subjects.some((subject) => once.has(subject));
    return subjects.length > 1 || isRepeated
      ? [`payment ${paymentId} was served ${all.length} times, for the items ${subjects.join(' and ')}`]
      : [];
  });
  const ofFacilitator = bought.filter(({ purchase, successes }) => !purchase.identified && successes > 1);
  return [
    ...ofUpstream,
    ...ofFacilitator.map((one) => `${nameOf(one)} got ${one.successes} successes of the facilitator`),
  ];
}

function nameOf({ purchase: { item, flow, form } }: Bought): string {
  return `buyer ${item} (${flow}, ${form})`;
}

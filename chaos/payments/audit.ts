import type { Payment } from '../../src/client/client.ts';
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
}

/** The sales of a run, compared with the blocks. */
export interface PaymentAudit {
  /** Payments that landed. */
  readonly made: number;
  /** Of those, payments whose buyer has the item, or whose row is `served`. */
  readonly served: number;
  /** Answers with the item to a buyer whose payments did not land. */
  readonly unpaidAnswers: number;
  /** Landed payments that are neither served nor recorded as owed, refundable or unmatched. */
  readonly lost: number;
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
export function auditPayments(evidence: PaymentEvidence): PaymentVerdict {
  const { bought, requests } = evidence;
  const sold = soldOf(evidence);
  const landed = new Set(evidence.landed.flatMap(({ signatures }) => signatures));
  const unpaid = bought.filter(
    ({ end, signatures }) => end.kind === 'answered' && !signatures.some((one) => landed.has(one)),
  );
  const lost = sold.filter((one) => !isServed(one) && !ACCOUNTED_FOR.has(one.row?.state ?? ''));
  return {
    payments: {
      made: sold.length,
      served: sold.filter(isServed).length,
      unpaidAnswers: unpaid.length,
      lost: lost.length,
    },
    findings: [
      ...unpaid.map((one) => `${nameOf(one)} has the item, and no payment of it landed: ${one.last}`),
      ...sold.flatMap(soldFindings),
      ...bought.flatMap(buyerFindings),
      ...paidTwice(sold),
      ...rowsWithoutMoney(evidence.record, landed),
      ...deliveryFindings(requests),
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

function isServed({ buyer, row }: Sold): boolean {
  return buyer?.end.kind === 'answered' || row?.state === 'served';
}

function soldFindings(sold: Sold): readonly string[] {
  const { signature, buyer, row } = sold;
  const name = `payment ${signature} of ${buyer === undefined ? 'no buyer' : nameOf(buyer)}`;
  const state = `${row?.state ?? 'not recorded'}${row?.reason ? `: ${row.reason}` : ''}`;
  if (buyer === undefined) return [`${name} landed; its row is ${state}`];
  if (row?.state === 'served') return [];
  return [`${name} landed; its row is ${state}; the buyer's last answer: ${buyer.last}`];
}

/** Every buyer that follows the protocol must have its item at the end. */
function buyerFindings(bought: Bought): readonly string[] {
  const { end, last, signatures } = bought;
  switch (end.kind) {
    case 'answered':
      return [];
    case 'none':
      return [`${nameOf(bought)} has no decision after ${signatures.length} payments: ${last}`];
    case 'refused':
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

/** Each item is delivered for one payment, named the same in both headers. */
function deliveryFindings(requests: readonly ItemRequest[]): readonly string[] {
  const unnamed = requests.filter(
    ({ paymentId, idempotencyKey }) => paymentId === null || paymentId !== idempotencyKey,
  );
  const delivered = grouped(
    requests.filter(({ status }) => status === 200),
    ({ item }) => item,
  );
  const twice = [...delivered].flatMap(([item, all]) => {
    const payments = new Set(all.map(({ paymentId }) => paymentId));
    return payments.size < 2 ? [] : [`item ${item} was delivered for ${[...payments].join(' and for ')}`];
  });
  return [
    ...unnamed.map(
      ({ item, paymentId, idempotencyKey }) =>
        `the upstream was asked for item ${item} with payment ${paymentId}, Idempotency-Key ${idempotencyKey}`,
    ),
    ...twice,
  ];
}

function nameOf({ purchase }: Bought): string {
  return `buyer ${purchase.item} (${purchase.form})`;
}

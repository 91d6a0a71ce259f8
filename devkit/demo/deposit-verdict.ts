import type { DepositEvent } from '../../src/client/client.ts';
import type { IncomingTransfer } from '../localstack/chain-truth.ts';
import type { PlannedTransfer } from './depositors.ts';
import type { DemoRow } from './table.ts';

export interface SentTransfer extends PlannedTransfer {
  readonly signature: string;
}

export interface DepositVerdict {
  readonly made: number;
  /** Number of events `final` in the feed. */
  readonly credited: number;
  /** Number of events `not_credited` in the feed, by reason. */
  readonly notCredited: Readonly<Record<string, number>>;
  readonly faults: readonly string[];
}

/**
 * Compares the complete deposit feed with `incoming`, all incoming transfers of the users' wallets in the blocks. Each must have exactly
 * one outcome with the exact amount, and no other outcomes may exist. The incoming transfers must also equal the planned ones.
 */
export function judgeDeposits(
  planned: readonly SentTransfer[],
  incoming: readonly IncomingTransfer[],
  feed: readonly DepositEvent[],
): DepositVerdict {
  const outcomes = feed.filter(({ kind }) => kind === 'final' || kind === 'not_credited');
  const final = outcomes.filter(({ kind }) => kind === 'final');
  const genuine = incoming.filter((transfer) => plannedFor(planned, transfer)?.reason === null);
  const unmatched = outcomes.filter(({ deposit }) => !incoming.some((transfer) => isOf(transfer, deposit)));
  return {
    made: genuine.length,
    credited: final.length,
    notCredited: countReasons(outcomes),
    faults: [
      ...planned.flatMap((plan) => plannedFault(plan, incoming)),
      ...incoming.flatMap((transfer) => incomingFault(transfer, plannedFor(planned, transfer), outcomes)),
      ...unmatched.map(({ deposit }) => `the blocks do not have the deposit ${deposit.signature}`),
      ...gapsOf(feed),
    ],
  };
}

export function depositRows(
  planned: readonly SentTransfer[],
  incoming: readonly IncomingTransfer[],
  feed: readonly DepositEvent[],
): readonly DemoRow[] {
  return planned.map((plan) => {
    const transfers = incoming.filter((item) => plannedFor([plan], item) !== undefined);
    const [transfer] = transfers;
    const last = feed.findLast(({ deposit }) => transfer !== undefined && isOf(transfer, deposit));
    return {
      what: plan.what,
      status: transfer === undefined ? 'not received' : stateOf(last),
      asset: plan.asset,
      sent: plan.sent,
      received: transfers.map(({ amount }) => amount),
      note: plan.signature,
    };
  });
}

function stateOf(event: DepositEvent | undefined): string {
  if (event === undefined) return 'not in the feed';
  const { kind, deposit } = event;
  if (kind === 'final') return 'credited';
  return [kind, deposit.reason ?? []].flat().join(': ').replaceAll('_', ' ');
}

function plannedFor(planned: readonly SentTransfer[], transfer: IncomingTransfer): SentTransfer | undefined {
  return planned.find(
    (plan) =>
      plan.signature === transfer.signature &&
      plan.wallet === transfer.wallet &&
      plan.asset === transfer.asset,
  );
}

function plannedFault(plan: SentTransfer, incoming: readonly IncomingTransfer[]): readonly string[] {
  const found = incoming.filter((transfer) => plannedFor([plan], transfer) !== undefined);
  const amounts = found.map(({ amount }) => amount).join(' + ');
  const expected = plan.received === 0n ? '' : plan.received.toString();
  return amounts === expected
    ? []
    : [
        `${plan.what}: the wallet received ${amounts || 'nothing'}, expected ${expected || 'nothing'} (base units)`,
      ];
}

function incomingFault(
  transfer: IncomingTransfer,
  plan: SentTransfer | undefined,
  outcomes: readonly DepositEvent[],
): readonly string[] {
  const { signature, amount, asset } = transfer;
  if (plan === undefined)
    return [
      `transaction ${signature} transferred ${amount} base units of ${asset}, but the demo did not send it`,
    ];
  const reported = outcomes.filter(({ deposit }) => isOf(transfer, deposit));
  const correct = reported.filter(
    ({ deposit }) => BigInt(deposit.amount) === amount && deposit.reason === plan.reason,
  );
  if (reported.length === 1 && correct.length === 1) return [];
  const events = reported.map(({ kind, deposit }) =>
    `${kind} ${deposit.amount} ${deposit.reason ?? ''}`.trimEnd(),
  );
  return [
    `${plan.what}: the wallet received ${amount} base units, the feed has ${events.join(', ') || 'no event'}`,
  ];
}

function isOf(transfer: IncomingTransfer, deposit: DepositEvent['deposit']): boolean {
  return (
    deposit.signature === transfer.signature &&
    deposit.account === transfer.account &&
    deposit.asset === transfer.asset
  );
}

function countReasons(outcomes: readonly DepositEvent[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { deposit } of outcomes)
    if (deposit.reason !== null) counts[deposit.reason] = (counts[deposit.reason] ?? 0) + 1;
  return counts;
}

function gapsOf(feed: readonly DepositEvent[]): readonly string[] {
  return feed.flatMap(({ sequence }, index) =>
    sequence === String(index + 1) ? [] : [`the feed has sequence ${sequence} instead of ${index + 1}`],
  );
}

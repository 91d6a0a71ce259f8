import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PAYMENT_EVENTS, type PaymentEvent, type PaymentState } from '../../src/domain/payment.ts';

const STATES = ['settling', 'owed', 'served', 'refundable', 'unmatched', 'void'] as const;
const anyEvent = fc.constantFrom(...(Object.keys(PAYMENT_EVENTS) as PaymentEvent[]));

function paymentAfter(state: PaymentState, event: PaymentEvent): PaymentState {
  const { from, to }: { from: readonly PaymentState[]; to: PaymentState } = PAYMENT_EVENTS[event];
  return from.includes(state) ? to : state;
}

function after(events: readonly PaymentEvent[], start: PaymentState = 'settling'): PaymentState {
  return events.reduce(paymentAfter, start);
}

describe('a payment', () => {
  it.each([
    [['paid'], 'owed'],
    [['paid', 'served'], 'served'],
    [['paid', 'taken-back'], 'settling'],
    [['paid', 'taken-back', 'paid'], 'owed'],
    [['paid', 'taken-back', 'served'], 'served'],
    [['paid', 'refused'], 'refundable'],
    [['unpaid'], 'void'],
    [['paid', 'taken-back', 'unpaid'], 'void'],
    [['paid', 'short'], 'unmatched'],
  ] as const)('after %j is %s', (events, state) => {
    expect(after(events)).toBe(state);
  });

  it('stays served', () => {
    fc.assert(fc.property(fc.array(anyEvent), (events) => after(events, 'served') === 'served'));
  });

  it('stays void', () => {
    fc.assert(fc.property(fc.array(anyEvent), (events) => after(events, 'void') === 'void'));
  });

  it('is owed only after the money moved, and served earlier only by an answer that was already given', () => {
    fc.assert(
      fc.property(fc.array(anyEvent), (events) => {
        const states = events.map((_, index) => after(events.slice(0, index + 1)));
        const first = states.findIndex((state) => state === 'owed');
        return first === -1 || events.slice(0, first + 1).includes('paid');
      }),
    );
  });

  it('is unchanged by a repeated event', () => {
    fc.assert(
      fc.property(fc.constantFrom(...STATES), anyEvent, (state, once) => {
        const changed = paymentAfter(state, once);
        return paymentAfter(changed, once) === changed;
      }),
    );
  });
});

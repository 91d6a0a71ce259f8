import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PaymentEvent, type PaymentState, paymentAfter, paymentMove } from '../../src/domain/payment.ts';

const STATES = ['settling', 'owed', 'served', 'refundable', 'unmatched', 'void'] as const;
const paid = { kind: 'paid' } as const;
const event: fc.Arbitrary<PaymentEvent> = fc.constantFrom(
  paid,
  { kind: 'taken-back' } as const,
  { kind: 'unpaid' } as const,
  { kind: 'served' } as const,
  { kind: 'refused' } as const,
  { kind: 'short' } as const,
);

function after(events: readonly PaymentEvent[], start: PaymentState = 'settling'): PaymentState {
  return events.reduce(paymentAfter, start);
}

describe('a payment', () => {
  it.each([
    [[paid], 'owed'],
    [[paid, { kind: 'served' }], 'served'],
    [[paid, { kind: 'taken-back' }], 'settling'],
    [[paid, { kind: 'taken-back' }, paid], 'owed'],
    [[paid, { kind: 'taken-back' }, { kind: 'served' }], 'served'],
    [[paid, { kind: 'refused' }], 'refundable'],
    [[{ kind: 'unpaid' }], 'void'],
    [[paid, { kind: 'taken-back' }, { kind: 'unpaid' }], 'void'],
    [[paid, { kind: 'short' }], 'unmatched'],
  ] as const)('after %j is %s', (events, state) => {
    expect(after(events)).toBe(state);
  });

  it('is moved by an event from each state that it changes to one and the same', () => {
    fc.assert(
      fc.property(event, fc.constantFrom(...STATES), (one, state) => {
        const { from, to } = paymentMove(one);
        return paymentAfter(state, one) === (from.includes(state) ? to : state);
      }),
    );
  });

  it('is served for ever once it is served', () => {
    fc.assert(fc.property(fc.array(event), (events) => after(events, 'served') === 'served'));
  });

  it('that is void buys nothing any more', () => {
    fc.assert(fc.property(fc.array(event), (events) => after(events, 'void') === 'void'));
  });

  it('is owed only after the money has moved, and not served without it but by an answer that was given', () => {
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const states = events.map((_, index) => after(events.slice(0, index + 1)));
        const first = states.findIndex((state) => state === 'owed');
        return first === -1 || events.slice(0, first + 1).some(({ kind }) => kind === 'paid');
      }),
    );
  });

  it('is changed by no event that comes twice', () => {
    fc.assert(
      fc.property(fc.constantFrom(...STATES), event, (state, once) => {
        const changed = paymentAfter(state, once);
        return paymentAfter(changed, once) === changed;
      }),
    );
  });
});

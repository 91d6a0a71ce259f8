import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Runs } from '../../../../src/solana/scan/bytes/byte-runs.ts';

/** What a text of a node may have, some bytes oftener; 0x7f, a control character, and what precedes it may make a NaN. */
const byte = fc.oneof(
  fc.constantFrom(0x22, 0x2c, 0x7b),
  fc.integer({ min: 0x20, max: 0x7e }),
  fc.integer({ min: 0x80, max: 0xf4 }),
);
const bytes = (length: { minLength: number; maxLength: number }) =>
  fc.array(byte, length).map((list) => Uint8Array.from(list));

test('a byte run is found at its position, and not when one byte differs', () => {
  const lists = fc.array(bytes({ minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      lists,
      bytes({ minLength: 0, maxLength: 9 }),
      fc.nat(),
      byte,
      (all, before, chosen, other) => {
        const index = chosen % all.length;
        const run = all[index] ?? new Uint8Array();
        const text = Buffer.concat([before, run, Buffer.alloc(8, 'x')]);
        const view = new DataView(text.buffer, text.byteOffset, text.length);
        const runs = new Runs(all);
        expect(runs.after(view, before.length, index)).toBe(before.length + run.length);
        for (let at = 0; at < run.length; at += 1) {
          const was = view.getUint8(before.length + at);
          view.setUint8(before.length + at, other);
          expect(runs.after(view, before.length, index) >= 0).toBe(was === other);
          view.setUint8(before.length + at, was);
        }
      },
    ),
  );
});

test('a byte run that encodes a NaN is never found, so the caller must walk the bytes', () => {
  const run = Buffer.from('aaaaaa\xf4\x7f', 'latin1');
  expect(new Runs([run]).after(new DataView(Uint8Array.from(run).buffer), 0, 0)).toBe(-1);
});

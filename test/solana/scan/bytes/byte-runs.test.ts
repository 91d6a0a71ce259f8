import fc from 'fast-check';
import { expect, test } from 'vitest';
import { areBytesEqual } from '../../../../src/solana/scan/bytes/byte-runs.ts';

/** What a text of a node may have, some bytes oftener; 0x7f, a control character, and what precedes it may make a NaN. */
const byte = fc.oneof(
  fc.constantFrom(0x22, 0x2c, 0x7b),
  fc.integer({ min: 0x20, max: 0x7e }),
  fc.integer({ min: 0x80, max: 0xf4 }),
);
const bytes = (length: { minLength: number; maxLength: number }) =>
  fc.array(byte, length).map((list) => Uint8Array.from(list));

test('two byte runs are the same, and not when one byte differs', () => {
  fc.assert(
    fc.property(
      bytes({ minLength: 1, maxLength: 30 }),
      bytes({ minLength: 0, maxLength: 9 }),
      byte,
      (run, before, different) => {
        const text = Buffer.concat([run, before, run, Buffer.alloc(8, 'x')]);
        const view = new DataView(text.buffer, text.byteOffset, text.length);
        const copy = run.length + before.length;
        expect(areBytesEqual(view, 0, copy, run.length)).toBe(true);
        for (let at = copy; at < copy + run.length; at += 1) {
          const original = view.getUint8(at);
          view.setUint8(at, different);
          expect(areBytesEqual(view, 0, copy, run.length)).toBe(original === different);
          view.setUint8(at, original);
        }
      },
    ),
  );
});

test('a byte run that encodes a NaN equals no run, so the caller must walk the bytes', () => {
  const run = Uint8Array.from(Buffer.from('aaaaaa\xf4\x7f', 'latin1'));
  expect(areBytesEqual(new DataView(run.buffer), 0, 0, run.length)).toBe(false);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonBytes } from '../../../../src/solana/scan/bytes/json-bytes.ts';
import { MembersReader } from '../../../../src/solana/scan/bytes/object-keys.ts';
import { drawFrom, type JsonFields, write } from '../block-text.ts';

const KEYS = ['a', 'aa', 'ab', 'preBalances', 'postBalances', 'preTokenBalances'];
const ASKED = ['a', 'preBalances', 'postBalances'];
const value = fc.oneof(
  fc.integer(),
  fc.constantFrom(null, true, 'a', 'preBalances', '}'),
  fc.constant([1, { a: 2 }]),
);
const object = fc.dictionary(fc.constantFrom(...KEYS), value);

test('the object reader picks the reader of a value by its key, whatever came before', () => {
  fc.assert(
    fc.property(fc.array(object, { minLength: 1, maxLength: 8 }), fc.integer(), (objects, seed) => {
      const draw = drawFrom(seed);
      const spread = seed % 2 === 0;
      const written = objects.map((one) =>
        spread ? write(draw, one as JsonFields).trim() : JSON.stringify(one),
      );
      const bytes = Buffer.from(`${written.join(';')}${' '.repeat(8)}`);
      const json = new JsonBytes(new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
      const read: [string, unknown][] = [];
      const reader = (key: string) => (at: number) => {
        const end = json.value(at);
        read.push([key, JSON.parse(bytes.toString('utf8', at, end))]);
        return end;
      };
      const readers = Object.fromEntries(ASKED.map((key) => [key, reader(key)]));
      const members = new MembersReader(json, readers, reader('other'));
      let at = 0;
      for (const text of written) {
        read.length = 0;
        expect(members.read(at)).toBe(at + Buffer.byteLength(text));
        const entries = Object.entries(JSON.parse(text) as object);
        expect(read).toEqual(entries.map(([key, one]) => [ASKED.includes(key) ? key : 'other', one]));
        at += Buffer.byteLength(text) + 1;
      }
    }),
    { numRuns: 400 },
  );
});

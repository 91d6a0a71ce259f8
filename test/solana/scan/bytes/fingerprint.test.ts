import { expect, test } from 'vitest';
import { Fingerprint } from '../../../../src/solana/scan/bytes/fingerprint.ts';

const WALLET = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkwyTDt1v4';
const DRAWS = 10_000;
const U32_BYTES = 4;
const U32S = WALLET.length / U32_BYTES;

const viewOf = (text: string) => new DataView(new TextEncoder().encode(text).buffer);

function hashOf(fingerprint: Fingerprint, view: DataView): string {
  const print = fingerprint.hash(view, 0, view.byteLength);
  return `${print} ${fingerprint.segmentBits}`;
}

test('texts that differ in one byte have two hashes, at any byte of a u32', () => {
  const wallet = viewOf(WALLET);
  const namesakes = Array.from({ length: WALLET.length }, (_, at) =>
    viewOf(`${WALLET.slice(0, at)}${WALLET[at] === 'z' ? 'y' : 'z'}${WALLET.slice(at + 1)}`),
  );
  let same = 0;
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const fingerprint = new Fingerprint();
    const hash = hashOf(fingerprint, wallet);
    for (const namesake of namesakes) same += Number(hashOf(fingerprint, namesake) === hash);
  }
  expect(same).toBe(0);
});

/**
 * `1` and `q` differ in the highest bit only in which two characters may. Of texts of both, at one byte of every u32, any two differ by no
 * more: hundreds of thousands of differences, each forgotten under one of 2^28 keys. So one draw in a thousand forgets one; were it one of
 * 2^20 keys, every fourth would.
 */
test('texts that differ in one bit have two hashes under almost all keys', () => {
  let forgetful = 0;
  for (let byte = 0; byte < U32_BYTES; byte += 1) {
    const texts = Array.from({ length: 2 ** U32S }, (_, chosen) => viewOf(textOf(chosen, byte)));
    for (let draw = 0; draw < 128; draw += 1) {
      const fingerprint = new Fingerprint();
      const hashes = new Set(texts.map((text) => hashOf(fingerprint, text)));
      forgetful += Number(hashes.size < texts.length);
    }
  }
  expect(forgetful).toBeLessThan(20);
});

/** Ones, but for a `q` at this byte of each u32 whose bit is set in `chosen`. */
function textOf(chosen: number, byte: number): string {
  return Array.from({ length: WALLET.length }, (_, at) => {
    const isChosen = at % U32_BYTES === byte && ((chosen >> Math.floor(at / U32_BYTES)) & 1) === 1;
    return isChosen ? 'q' : '1';
  }).join('');
}

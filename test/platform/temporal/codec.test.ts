import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { expect, test } from 'vitest';
import { AesCodec, dataConverter } from '../../../src/platform/temporal/codec.ts';

const value = { id: 'w-1', amount: '1000', destination: 'a wallet' };
const plain = (): Payload => defaultPayloadConverter.toPayload(value) as Payload;
const read = (payload: Payload | undefined): unknown =>
  defaultPayloadConverter.fromPayload(payload as Payload);

async function sealed(codec: AesCodec): Promise<Payload> {
  const [payload] = await codec.encode([plain()]);
  if (payload === undefined) throw new Error('nothing encoded');
  return payload;
}

test('the codec decodes an encoded payload, and the payload contains no plain text', async () => {
  const codec = new AesCodec([randomBytes(32)]);
  const payload = await sealed(codec);
  expect(Buffer.from(payload.data ?? []).includes('a wallet')).toBe(false);
  expect(read((await codec.decode([payload]))[0])).toEqual(value);
});

test('the codec decrypts with an older key after a change of keys, and names a missing key by its id', async () => {
  const [old, fresh] = [randomBytes(32), randomBytes(32)];
  const payload = await sealed(new AesCodec([old]));
  expect(read((await new AesCodec([fresh, old]).decode([payload]))[0])).toEqual(value);
  await expect(new AesCodec([fresh]).decode([payload])).rejects.toThrow(/lacks the key with id [0-9a-f]{16}/);
});

test('the codec refuses changed data or metadata', async () => {
  const codec = new AesCodec([randomBytes(32)]);
  const payload = await sealed(codec);
  const data = new Uint8Array(payload.data ?? []);
  data[20] = (data[20] ?? 0) ^ 1;
  await expect(codec.decode([{ ...payload, data }])).rejects.toThrow();
  const metadata = { ...payload.metadata, 'inner-encoding': new Uint8Array(Buffer.from('binary/plain')) };
  await expect(codec.decode([{ ...payload, metadata }])).rejects.toThrow();
  await expect(codec.decode([{ ...payload, data: data.slice(0, 5) }])).rejects.toThrow(/too short/);
});

test('the codec passes payloads that were never encrypted', async () => {
  const codec = new AesCodec([randomBytes(32)]);
  expect(read((await codec.decode([plain()]))[0])).toEqual(value);
});

test("without a key the converter is Temporal's default", () => {
  expect(dataConverter([])).toEqual({});
  expect(dataConverter([randomBytes(32)]).payloadCodecs).toHaveLength(1);
});

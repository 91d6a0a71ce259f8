import { execFile } from 'node:child_process';
import { createPublicKey, sign, verify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { keypairFile } from '../../devkit/localstack/keypair.ts';
import { privateKeyOf, publicKeyOf } from '../../src/signing/ed25519.ts';

const KEYS = 10_000;
const HUNG_MS = 120_000;
const MAKE_KEYS = `
  import { newAddress } from ${JSON.stringify(new URL('../../devkit/localstack/keypair.ts', import.meta.url).href)};
  const made = Array.from({ length: ${KEYS} }, () => newAddress());
  process.stdout.write(String(new Set(made).size));
`;

test('any number of addresses can be generated, even during garbage collection', {
  timeout: HUNG_MS,
}, async () => {
  // The young generation is small, so that many collections run while a key is generated.
  const args = ['--max-semi-space-size=1', '--import', import.meta.resolve('tsx'), '--input-type=module'];
  const { stdout } = await promisify(execFile)(process.execPath, [...args, '--eval', MAKE_KEYS], {
    timeout: HUNG_MS - 10_000,
  });
  expect(Number(stdout)).toBe(KEYS);
});

test('a keypair file contains a seed and its public key, and is written once', () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-keypair-'));
  try {
    const path = join(dir, 'keys', 'payer.json');
    const { address } = keypairFile(path);
    const bytes = Uint8Array.from(JSON.parse(readFileSync(path, 'utf8')) as number[]);
    expect(bytes.length).toBe(64);
    const key = privateKeyOf(bytes.subarray(0, 32), bytes.subarray(32));
    const message = Buffer.from('a message');
    expect(verify(null, message, publicKeyOf(address), sign(null, message, key))).toBe(true);
    expect(createPublicKey(key).equals(publicKeyOf(address))).toBe(true);
    expect(keypairFile(path).address).toBe(address);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

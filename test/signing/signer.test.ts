import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import { expect, test } from 'vitest';
import { keypairFile } from '../../devkit/localstack/keypair.ts';
import { verifySignature } from '../../src/signing/ed25519.ts';
import { loadKeypair } from '../../src/signing/signer.ts';

test('a key is read from a file or from its value, and its signatures are valid for its address alone', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-key-'));
  const { path, address } = keypairFile(join(directory, 'key.json'));
  const text = readFileSync(path, 'utf8');
  const signer = await loadKeypair(path);
  rmSync(directory, { recursive: true });
  expect([signer.address, (await loadKeypair(text)).address]).toEqual([address, address]);
  expect(Keypair.fromSecretKey(Uint8Array.from(JSON.parse(text))).publicKey.toBase58()).toBe(address);
  const message = new TextEncoder().encode('pay');
  const signature = await signer.sign(message);
  expect(verifySignature(address, message, signature)).toBe(true);
  expect(verifySignature(address, new TextEncoder().encode('pay more'), signature)).toBe(false);
  expect(verifySignature(Keypair.generate().publicKey.toBase58(), message, signature)).toBe(false);
});

test('a key with halves that do not match is refused, and the error contains no part of it', async () => {
  const [one, other] = [Keypair.generate().secretKey, Keypair.generate().secretKey];
  const mixed = JSON.stringify([...one.slice(0, 32), ...other.slice(32)]);
  await expect(loadKeypair(mixed)).rejects.toThrow('its public key does not belong to its private key');
  await expect(loadKeypair(mixed)).rejects.not.toThrow(String(one.slice(0, 3)));
});

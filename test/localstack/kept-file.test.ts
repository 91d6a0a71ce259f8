import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readOrCreateFile } from '../../devkit/localstack/keypair.ts';

const place = () => join(mkdtempSync(join(tmpdir(), 'sluice-kept-')), 'keys', 'key');

test('a kept file is written once, readable only by its owner', () => {
  const path = place();
  expect(readOrCreateFile(path, () => 'first')).toBe('first');
  expect(readOrCreateFile(path, () => 'second')).toBe('first');
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('two processes that write a kept file at once both get the content of the first', () => {
  const path = place();
  let other = '';
  const own = readOrCreateFile(path, () => {
    other = readOrCreateFile(path, () => 'of the other');
    return 'own';
  });
  expect([own, other]).toEqual(['of the other', 'of the other']);
});

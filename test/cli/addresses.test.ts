import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AddressManifest, checkManifest } from '../../src/deposits/addresses/address-manifest.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';

const PHANTOM_WORDS = 'crush desk brain index action subject tackle idea trim unveil lawn live';
const PHANTOM_FIRST = '7EWwMxKQa5Gru7oTcS1Wi3AaEgTfA6MU3z7MaLUT6hnD';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-addresses-'));
  writeFileSync(join(directory, 'words'), `${PHANTOM_WORDS}\n`);
});
afterAll(() => rmSync(directory, { recursive: true }));

const generate = (...args: readonly string[]) =>
  callSluice(['addresses', 'generate', ...args], { cwd: directory });
const text = (name: string): string => readFileSync(join(directory, name), 'utf8');
const manifest = (name: string): AddressManifest => JSON.parse(text(name)) as AddressManifest;

describe('sluice addresses generate, without any running service', () => {
  test('derives addresses from a mnemonic, from any index, and signs the list', async () => {
    const made = await generate('--count', '3', '--mnemonic-file', 'words', '--out', 'a.json', '-o', 'json');
    const { publicKey, entries } = manifest('a.json');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(jsonOf(made)).toEqual({
      manifest: 'a.json',
      manifestKey: publicKey,
      mnemonicFile: 'words',
      first: PHANTOM_FIRST,
      count: 3,
    });
    expect(entries.map(({ path }) => path)).toEqual([0, 1, 2].map((i) => `m/44'/501'/${i}'/0'`));
    await checkManifest(manifest('a.json'), { cluster: 'devnet', manifestKey: publicKey });
    const next = await generate(
      '--count',
      '2',
      '--start',
      '2',
      '--mnemonic-file',
      'words',
      '--out',
      'b.json',
    );
    expect(next.stdout).toContain(`SLUICE_ADDRESS_MANIFEST_KEY=${publicKey}\n`);
    expect(manifest('b.json').entries[0]).toEqual(entries[2]);
    expect(manifest('b.json').entries.at(-1)?.path).toBe("m/44'/501'/3'/0'");
  });

  test('writes a new mnemonic that only its owner can read, and prints none of its words', async () => {
    const made = await generate('--count', '1', '--out', 'new.json');
    expect(made.code).toBe(0);
    const words = text('new.mnemonic').trim().split(' ');
    expect(words).toHaveLength(24);
    expect(statSync(join(directory, 'new.mnemonic')).mode & 0o777).toBe(0o600);
    const said = `${made.stdout}${made.stderr}${text('new.json')}`.split(/[^a-z]+/);
    expect(said.join(' ')).not.toContain(words.slice(0, 2).join(' '));
    const again = await generate('--count', '1', '--mnemonic-file', 'new.mnemonic', '--out', 'new2.json');
    expect(again.code).toBe(0);
    expect(manifest('new2.json')).toEqual(manifest('new.json'));
  });

  test('overwrites neither a manifest nor a mnemonic', async () => {
    writeFileSync(join(directory, 'kept.json'), 'kept');
    writeFileSync(join(directory, 'lost.mnemonic'), 'kept');
    const [there, words] = await Promise.all([
      generate('--count', '1', '--out', 'kept.json'),
      generate('--count', '1', '--out', 'lost.json'),
    ]);
    expect([there.code, words.code]).toEqual([2, 2]);
    expect([text('kept.json'), text('lost.mnemonic')]).toEqual(['kept', 'kept']);
    expect(existsSync(join(directory, 'kept.mnemonic'))).toBe(false);
    expect(existsSync(join(directory, 'lost.json'))).toBe(false);
    expect(words.stderr).toContain('lost.mnemonic exists and is never overwritten');
  });

  test('refuses too many addresses, indexes without a key, an invalid mnemonic and a missing folder', async () => {
    writeFileSync(join(directory, 'typo'), PHANTOM_WORDS.replace('live', 'love'));
    const [many, beyond, typo, absent, folder] = await Promise.all([
      generate('--count', '10001', '--out', 'x.json'),
      generate('--count', '2', '--start', String(2 ** 31 - 1), '--out', 'x.json'),
      generate('--count', '1', '--mnemonic-file', 'typo', '--out', 'x.json'),
      generate('--count', '1', '--mnemonic-file', 'nowhere', '--out', 'x.json'),
      generate('--count', '1', '--out', 'no-folder/x.json'),
    ]);
    expect([many, beyond, typo, absent, folder].map(({ code }) => code)).toEqual([2, 2, 2, 2, 2]);
    expect(folder.stderr).toContain('no-folder/x.mnemonic cannot be written: ENOENT');
    expect(typo.stderr).not.toContain('love');
    expect(existsSync(join(directory, 'x.json'))).toBe(false);
    expect(existsSync(join(directory, 'x.mnemonic'))).toBe(false);
  });
});

test('the CLI does not send a file that is not a manifest, and names the places where it looked for a stack', async () => {
  writeFileSync(join(directory, 'package.json'), '{ "name": "app", "version": "1.0.0" }');
  const [notOne, nowhere] = await Promise.all([
    callSluice(['addresses', 'import', 'package.json'], {
      cwd: directory,
      env: { SLUICE_API_URL: 'http://127.0.0.1:9', SLUICE_API_KEY: 'none' },
    }),
    callSluice(['assets', 'list'], { cwd: directory }),
  ]);
  expect(notOne).toMatchObject({
    code: 2,
    stderr: 'sluice: <file> must be an address manifest, but package.json is not one\n',
  });
  expect(nowhere.code).toBe(2);
  expect(nowhere.stderr).toMatch(/npm run dev.*\.sluice\/dev\.json, which is not in \S*sluice-addresses-/);
});

import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/platform/config.ts';

const MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const CHAIN = {
  DATABASE_URL: 'postgres://user:secret@127.0.0.1:5432/sluice',
  SLUICE_RPC_URLS: 'http://127.0.0.1:8899, http://127.0.0.1:8901',
  SLUICE_HOT_WALLET: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
};

describe('readConfig', () => {
  test('applies defaults to unset settings, and treats an empty value as unset', () => {
    const config = readConfig({ SLUICE_HTTP_PORT: '', PATH: '/bin' }, 'tool');
    expect(config).toMatchObject({
      temporalAddress: '127.0.0.1:7233',
      httpHost: '127.0.0.1',
      httpPort: 3402,
    });
    expect(config.databaseUrl).toBeUndefined();
  });

  test('reads the settings of a chain worker', () => {
    const config = readConfig(
      {
        ...CHAIN,
        SLUICE_PRIORITY_CAP_MICRO_LAMPORTS: '18446744073709551615',
        SLUICE_TOKEN_POLICY: 'permanentDelegate=reject',
        SLUICE_RPC_REQUESTS_PER_SECOND: '40',
      },
      'chain',
    );
    expect(config.rpcUrls).toEqual(['http://127.0.0.1:8899', 'http://127.0.0.1:8901']);
    expect(config.priorityCapMicroLamports).toBe(2n ** 64n - 1n);
    expect(config.tokenPolicy).toEqual({ permanentDelegate: 'reject' });
    expect(config.rpcRequestsPerSecond).toBe(40);
    expect(readConfig(CHAIN, 'chain').rpcRequestsPerSecond).toBeUndefined();
  });

  test('reads the worth of assets', () => {
    const worth = { SLUICE_X402_ASSET_LAMPORTS: ` ${MINT}=7000000, ${CHAIN.SLUICE_HOT_WALLET}=1` };
    const { x402AssetLamports, x402MaxFeePercent } = readConfig(worth, 'tool');
    expect([...x402AssetLamports]).toEqual([
      [MINT, 7_000_000n],
      [CHAIN.SLUICE_HOT_WALLET, 1n],
    ]);
    expect(x402MaxFeePercent).toBe(100n);
    expect(readConfig({}, 'tool').x402AssetLamports.size).toBe(0);
  });

  test('reads the limits of the signer from its own settings', () => {
    const env = {
      SLUICE_SIGNER_KEY_FILE: 'key.json',
      SLUICE_PRIORITY_CAP_MICRO_LAMPORTS: '7000',
      SLUICE_TOKEN_POLICY: 'transferHook=allow',
    };
    const { priorityCapMicroLamports, tokenPolicy } = readConfig(env, 'signer');
    expect(priorityCapMicroLamports).toBe(7_000n);
    expect(tokenPolicy).toEqual({ transferHook: 'allow' });
  });

  test.each([
    [{ SLUICE_HTPP_PORT: '1' }, 'tool', /^SLUICE_HTPP_PORT is not a setting/],
    [{ SLUICE_HTTP_PORT: '70000' }, 'tool', /^SLUICE_HTTP_PORT must be a port number/],
    [{ SLUICE_CLUSTER: 'testnet' }, 'tool', /^SLUICE_CLUSTER must be localnet, devnet or mainnet-beta/],
    [{ ...CHAIN, SLUICE_RPC_URLS: 'ftp://node' }, 'chain', /^SLUICE_RPC_URLS must be an http or https URL/],
    [
      { ...CHAIN, SLUICE_HOT_WALLET: '' },
      'chain',
      /^SLUICE_HOT_WALLET must be set for a worker of role chain/,
    ],
    [{ ...CHAIN, SLUICE_HOT_WALLET: 'O0Il' }, 'chain', /^SLUICE_HOT_WALLET must be a base58 address/],
    [{}, 'api', /^DATABASE_URL must be set for the API/],
    [{}, 'signer', /^SLUICE_SIGNER_KEY_FILE or SLUICE_SIGNER_KEY must be set/],
    [{ SLUICE_PAYLOAD_KEY: 'c2hvcnQ=' }, 'tool', /^SLUICE_PAYLOAD_KEY must be keys of 32 bytes in base64/],
    ...[
      'permanentDelegate',
      'permanentDelegat=reject',
      'transferHook=yes',
      'toString=allow',
      ''.padEnd(3, ','),
    ].map(
      (text) =>
        [{ SLUICE_TOKEN_POLICY: text }, 'tool', /^SLUICE_TOKEN_POLICY must be a list of name=allow/] as const,
    ),
    ...[MINT, `${MINT}=0`, `${MINT}=1.5`, `mint=1`, `${MINT}=1,`].map(
      (text) =>
        [
          { SLUICE_X402_ASSET_LAMPORTS: text },
          'tool',
          /^SLUICE_X402_ASSET_LAMPORTS must be <mint>=<lamports per whole token>, separated by commas; not /,
        ] as const,
    ),
    [
      { SLUICE_X402_ASSET_LAMPORTS: `${MINT}=1,${MINT}=2` },
      'tool',
      /^SLUICE_X402_ASSET_LAMPORTS must name each mint only once; \w+ is repeated/,
    ],
    [{ SLUICE_X402_SOCKET: 'x402.sock' }, 'tool', /^SLUICE_X402_SOCKET must be an absolute path/],
    [{ SLUICE_X402_SOCKET: `/${'x'.repeat(91)}` }, 'tool', /^SLUICE_X402_SOCKET must be an absolute path/],
    [{ SLUICE_X402_MAX_FEE_PERCENT: '1.5' }, 'tool', /^SLUICE_X402_MAX_FEE_PERCENT must be a whole number/],
    [{ SLUICE_RPC_REQUESTS_PER_SECOND: '0' }, 'tool', /^SLUICE_RPC_REQUESTS_PER_SECOND /],
    [{ SLUICE_CONFIRM_USED_WALLET: 'yes' }, 'tool', /^SLUICE_CONFIRM_USED_WALLET must be true or false/],
    [
      { SLUICE_PRIORITY_FLOOR_MICRO_LAMPORTS: '2', SLUICE_PRIORITY_CAP_MICRO_LAMPORTS: '1' },
      'tool',
      /^SLUICE_PRIORITY_FLOOR_MICRO_LAMPORTS is above/,
    ],
  ] as const)('stops the start for %o', (env, role, message) => {
    expect(() => readConfig(env, role)).toThrow(ConfigError);
    expect(() => readConfig(env, role)).toThrow(message);
  });

  test.each([
    'http://node.example/key',
    'http://8.8.8.8:8899',
    'http://validator:8899',
    'http://[2606:4700::1111]',
    'http://[64:ff9b::808:808]',
    'http://[2002::1]',
    'http://224.0.0.1',
    'http://168.63.129.16',
    'http://[::ffff:8.8.8.8]',
  ])('refuses %s as a node of mainnet-beta', (url) => {
    const env = { ...CHAIN, SLUICE_RPC_URLS: `https://one.example,${url}` };
    expect(() => readConfig({ ...env, SLUICE_CLUSTER: 'mainnet-beta' }, 'chain')).toThrow(
      `SLUICE_RPC_URLS contains an http URL of ${new URL(url).host}`,
    );
    expect(readConfig({ ...env, SLUICE_CLUSTER: 'devnet' }, 'chain').rpcUrls).toHaveLength(2);
  });

  test.each([
    'https://node.example',
    'http://127.0.0.1:8899',
    'http://localhost:8899',
    'http://10.1.2.3:8899',
    'http://192.168.0.9',
    'http://172.31.0.1',
    'http://[fd00::1]:8899',
    'http://[::ffff:10.1.2.3]:8899',
  ])('takes %s as a node of mainnet-beta', (url) => {
    const env = { ...CHAIN, SLUICE_RPC_URLS: `https://one.example,${url}`, SLUICE_CLUSTER: 'mainnet-beta' };
    expect(readConfig(env, 'chain').rpcUrls).toContain(url);
  });

  test('never shows the value of a bad secret', () => {
    const secret = '[1,2,3]';
    expect(() => readConfig({ SLUICE_SIGNER_KEY: secret }, 'signer')).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining(secret) }),
    );
  });

  test('the worker role defaults to all', () => {
    expect(readConfig({}, 'tool').workerRole).toBe('all');
    expect(readConfig({ SLUICE_WORKER_ROLE: 'signer' }, 'tool').workerRole).toBe('signer');
    expect(() => readConfig({ SLUICE_WORKER_ROLE: 'boss' }, 'tool')).toThrow(
      /must be chain, signer, x402 or all/,
    );
  });

  test('gives each signing process one key, from any source', () => {
    expect(readConfig({ SLUICE_SIGNER_KEY_FILE: 'key.json' }, 'signer').keypair).toBe('key.json');
    const key = JSON.stringify(Array(64).fill(7));
    expect(readConfig({ SLUICE_SIGNER_KEY: key }, 'signer').keypair).toBe(key);
  });
});

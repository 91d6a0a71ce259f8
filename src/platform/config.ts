import ipaddr from 'ipaddr.js';
import type { z } from 'zod';
import { isLoopback } from '../domain/cluster.ts';
import { REQUIRED_SETTINGS, type Role, SETTINGS } from './settings.ts';

type SettingKey = keyof typeof SETTINGS;

/** All parsed settings. A setting that is not set and has no default is undefined. */
export type Settings = { readonly [K in SettingKey]: z.output<(typeof SETTINGS)[K]['schema']> };

/** Settings of a process. Settings that its role requires are never undefined. */
export type Config<R extends Role = 'tool'> = Omit<Settings, (typeof REQUIRED_SETTINGS)[R][number]> & {
  readonly [K in (typeof REQUIRED_SETTINGS)[R][number]]: NonNullable<Settings[K]>;
} & SignerKey<R> & {
    /** Environment variables that a routes file can name for headers to upstreams. */
    readonly upstreamVariables: Readonly<Record<string, string>>;
  };

/** The keypair of a signing process: the path of a solana-keygen file, or the content of such a file. */
type SignerKey<R extends Role> = R extends 'signer' | 'all' ? { readonly keypair: string } : unknown;

/** An invalid setting. The message contains the setting's name, never its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export const SETTING_NAMES: readonly string[] = Object.values(SETTINGS).map(({ name }) => name);

function assertKnownSettings(env: NodeJS.ProcessEnv): void {
  const unknown = Object.keys(env).find(
    (name) => name.startsWith('SLUICE_') && !SETTING_NAMES.includes(name),
  );
  if (unknown !== undefined)
    throw new ConfigError(`${unknown} is not a setting of Sluice: .env.example lists all settings`);
}

function readSetting(name: string, schema: z.ZodType, env: NodeJS.ProcessEnv): unknown {
  const text = env[name];
  const result = schema.safeParse(text === '' ? undefined : text);
  if (result.success) return result.data;
  throw new ConfigError(`${name} ${result.error.issues[0]?.message ?? 'is not valid'}`);
}

function checkCombinations(settings: Settings, role: Role): void {
  const missing = REQUIRED_SETTINGS[role].find((key) => settings[key] === undefined);
  if (missing !== undefined)
    throw new ConfigError(`${SETTINGS[missing].name} must be set for ${describeProcess(role)}`);
  if ((role === 'signer' || role === 'all') && keypairOf(settings) === undefined) {
    throw new ConfigError(
      `SLUICE_SIGNER_KEY_FILE or SLUICE_SIGNER_KEY must be set for ${describeProcess(role)}`,
    );
  }
  if (settings.signerKey !== undefined && settings.signerKeyFile !== undefined) {
    throw new ConfigError('SLUICE_SIGNER_KEY and SLUICE_SIGNER_KEY_FILE are both set: remove one of them');
  }
  const insecureUrl = settings.rpcUrls?.find(isInsecure);
  if (settings.cluster === 'mainnet-beta' && insecureUrl !== undefined) {
    throw new ConfigError(
      `SLUICE_RPC_URLS contains an http URL of ${new URL(insecureUrl).host}, whose answers third parties can change: on mainnet-beta use https, or the loopback or private IP address of your own node`,
    );
  }
  if (settings.priorityFloorMicroLamports > settings.priorityCapMicroLamports) {
    throw new ConfigError('SLUICE_PRIORITY_FLOOR_MICRO_LAMPORTS is above SLUICE_PRIORITY_CAP_MICRO_LAMPORTS');
  }
}

/** Names in ipaddr.js of ranges that are not routed publicly: RFC 1918, loopback of IPv4 and IPv6, and fc00::/7. */
const PRIVATE_RANGES: ReadonlySet<string> = new Set(['private', 'loopback', 'uniqueLocal']);

/**
 * True if third parties can read and change the data in transit. Only IP addresses count as private: a name can resolve to any.
 */
function isInsecure(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  const isPrivate = ipaddr.isValid(host) && PRIVATE_RANGES.has(ipaddr.process(host).range());
  return protocol !== 'https:' && !isLoopback(url) && !isPrivate;
}

function keypairOf({ signerKey, signerKeyFile }: Settings): string | undefined {
  return signerKey ?? signerKeyFile;
}

function describeProcess(role: Role): string {
  if (role === 'api') return 'the API';
  return role === 'tool' ? 'this command' : `a worker of role ${role}`;
}

/**
 * Reads the settings of a process. An empty value counts as not set. Throws {@link ConfigError} for the first error.
 */
export function readConfig<R extends Role>(env: NodeJS.ProcessEnv, role: R): Config<R> {
  assertKnownSettings(env);
  const entries = Object.entries(SETTINGS).map(([key, { name, schema }]) => [
    key,
    readSetting(name, schema, env),
  ]);
  const settings = Object.fromEntries(entries) as Settings;
  checkCombinations(settings, role);
  const keypair = keypairOf(settings);
  return { ...settings, keypair, upstreamVariables: upstreamVariables(env) } as unknown as Config<R>;
}

/** Only variables with this prefix: no entry of a routes file or of the database can name another secret. */
function upstreamVariables(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const set = Object.entries(env).filter(([name, value]) => name.startsWith('UPSTREAM_') && value !== '');
  return Object.fromEntries(set.map(([name, value = '']) => [name, value]));
}

/**
 * {@link readConfig} for the start of a program. An invalid setting prints one line to stderr and exits with code 2.
 */
export function readConfigOrExit<R extends Role>(env: NodeJS.ProcessEnv, role: R): Config<R> {
  try {
    return readConfig(env, role);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`sluice: ${error.message}\n`);
    process.exit(2);
  }
}

import ipaddr from 'ipaddr.js';
import type { z } from 'zod';
import { isLoopback } from '../domain/cluster.ts';
import { REQUIRED, type Role, SETTINGS } from './settings.ts';

type Name = keyof typeof SETTINGS;

/** All parsed settings. A setting without a default is undefined if it is not set. */
export type Settings = { readonly [K in Name]: z.output<(typeof SETTINGS)[K]['schema']> };

/** Settings of a process. Settings that its role requires are not optional in the type. */
export type Config<R extends Role = 'tool'> = Omit<Settings, (typeof REQUIRED)[R][number]> & {
  readonly [K in (typeof REQUIRED)[R][number]]: NonNullable<Settings[K]>;
} & Key<R>;

/** The key of a signing process: the path of a solana-keygen file, or the content of one. */
type Key<R extends Role> = R extends 'signer' | 'all' ? { readonly keypair: string } : unknown;

/** An invalid setting. The message names it and never contains its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export const SETTING_NAMES: readonly string[] = Object.values(SETTINGS).map(({ name }) => name);

function refuseUnknown(env: NodeJS.ProcessEnv): void {
  const unknown = Object.keys(env).find(
    (name) => name.startsWith('SLUICE_') && !SETTING_NAMES.includes(name),
  );
  if (unknown !== undefined)
    throw new ConfigError(`${unknown} is not a setting of Sluice; .env.example lists all`);
}

function readOne(name: string, schema: z.ZodType, env: NodeJS.ProcessEnv): unknown {
  const text = env[name];
  const result = schema.safeParse(text === '' ? undefined : text);
  if (result.success) return result.data;
  throw new ConfigError(`${name} ${result.error.issues[0]?.message ?? 'is not valid'}`);
}

function checkTogether(settings: Settings, role: Role): void {
  const missing = REQUIRED[role].find((key) => settings[key] === undefined);
  if (missing !== undefined)
    throw new ConfigError(`${SETTINGS[missing].name} must be set for ${describe(role)}`);
  if ((role === 'signer' || role === 'all') && keypairOf(settings) === undefined) {
    throw new ConfigError(`SLUICE_SIGNER_KEY_FILE or SLUICE_SIGNER_KEY must be set for ${describe(role)}`);
  }
  if (settings.signerKey !== undefined && settings.signerKeyFile !== undefined) {
    throw new ConfigError('SLUICE_SIGNER_KEY and SLUICE_SIGNER_KEY_FILE are both set: keep one');
  }
  const clear = settings.rpcUrls?.find(isReadable);
  if (settings.cluster === 'mainnet-beta' && clear !== undefined) {
    throw new ConfigError(
      `SLUICE_RPC_URLS names ${new URL(clear).host} by http, so that third parties can change its answers: on mainnet-beta use https, or the loopback or private IP address of your own node`,
    );
  }
  if (settings.priorityFloorMicroLamports > settings.priorityCapMicroLamports) {
    throw new ConfigError('SLUICE_PRIORITY_FLOOR_MICRO_LAMPORTS is above SLUICE_PRIORITY_CAP_MICRO_LAMPORTS');
  }
}

/** Ranges that are not routed publicly: RFC 1918, the loopback of each family, and fc00::/7. */
const PRIVATE: ReadonlySet<string> = new Set(['private', 'loopback', 'uniqueLocal']);

/** True if third parties can read and change the traffic. A host name may resolve anywhere, so only IPs count. */
function isReadable(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  const isPrivate = ipaddr.isValid(bare) && PRIVATE.has(ipaddr.process(bare).range());
  return protocol !== 'https:' && !isLoopback(url) && !isPrivate;
}

function keypairOf({ signerKey, signerKeyFile }: Settings): string | undefined {
  return signerKey ?? signerKeyFile;
}

function describe(role: Role): string {
  if (role === 'api') return 'the API';
  return role === 'tool' ? 'this command' : `a worker of role ${role}`;
}

/** Reads the settings of a process. An empty value counts as not set. Throws {@link ConfigError} on the first error. */
export function readConfig<R extends Role>(env: NodeJS.ProcessEnv, role: R): Config<R> {
  refuseUnknown(env);
  const entries = Object.entries(SETTINGS).map(([key, { name, schema }]) => [
    key,
    readOne(name, schema, env),
  ]);
  const settings = Object.fromEntries(entries) as Settings;
  checkTogether(settings, role);
  return { ...settings, keypair: keypairOf(settings) } as unknown as Config<R>;
}

/** {@link readConfig} for the start of a program: exits with one line on stderr and code 2 on an invalid setting. */
export function readConfigOrExit<R extends Role>(env: NodeJS.ProcessEnv, role: R): Config<R> {
  try {
    return readConfig(env, role);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`sluice: ${error.message}\n`);
    process.exit(2);
  }
}

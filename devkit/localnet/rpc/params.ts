import type { CommitmentLevel } from '../chain/records.ts';
import { fromBase58 } from '../encoding/bytes.ts';
import { invalidParams } from './errors.ts';

export type Options = Readonly<Record<string, unknown>>;

function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `string ${JSON.stringify(value)}`;
  if (typeof value === 'number')
    return Number.isInteger(value) ? `integer \`${value}\`` : `floating point \`${value}\``;
  if (typeof value === 'boolean') return `boolean \`${value}\``;
  return Array.isArray(value) ? 'sequence' : 'map';
}

function wrongType(value: unknown, expected: string): Error {
  const kind = typeof value === 'number' && Number.isInteger(value) ? 'value' : 'type';
  return invalidParams(`Invalid params: invalid ${kind}: ${describeValue(value)}, expected ${expected}.`);
}

function toConfig(value: unknown): Options {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw wrongType(value, 'a map');
  return Object.fromEntries(Object.entries(value));
}

/** Returns `text` if it is a public key. Nodes report text that is not base58 as `Invalid`, a wrong length as `WrongSize`. */
export function checkAddress(text: string): string {
  const bytes = fromBase58(text);
  if (bytes === null) throw invalidParams('Invalid param: Invalid');
  if (bytes.length !== 32) throw invalidParams('Invalid param: WrongSize');
  return text;
}

export function checkSignature(text: string): string {
  const bytes = fromBase58(text);
  if (bytes === null) throw invalidParams('Invalid param: Invalid');
  if (bytes.length !== 64) throw invalidParams('Invalid param: WrongSize');
  return text;
}

/** The positional parameters of one call. Errors have the messages of an Agave node. */
export class Params {
  readonly #values: readonly unknown[];

  constructor(values: unknown) {
    if (values !== undefined && values !== null && !Array.isArray(values)) {
      throw invalidParams('Invalid params: expected an array.');
    }
    this.#values = values ?? [];
  }

  #required(index: number): unknown {
    const value: unknown = this.#values[index];
    if (value === undefined) throw invalidParams(`\`params\` should have at least ${index + 1} argument(s)`);
    return value;
  }

  rest(index: number): Params {
    return new Params(this.#values.slice(index));
  }

  has(index: number): boolean {
    return this.#values[index] !== undefined && this.#values[index] !== null;
  }

  boolean(index: number): boolean {
    const value = this.#values[index] ?? false;
    if (typeof value !== 'boolean') throw wrongType(value, 'a boolean');
    return value;
  }

  isNumber(index: number): boolean {
    return this.number(index) !== null;
  }

  number(index: number): number | null {
    const value = this.#values[index];
    return typeof value === 'number' ? value : null;
  }

  string(index: number): string {
    const value = this.#required(index);
    if (typeof value !== 'string') throw wrongType(value, 'a string');
    return value;
  }

  integer(index: number, type: 'u64' | 'usize' = 'u64'): number {
    const value = this.#required(index);
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) throw wrongType(value, type);
    return value;
  }

  strings(index: number): string[] {
    const value = this.#required(index);
    if (!Array.isArray(value)) throw wrongType(value, 'a sequence');
    return value.map((item: unknown) => {
      if (typeof item !== 'string') throw wrongType(item, 'a string');
      return item;
    });
  }

  address(index: number): string {
    return checkAddress(this.string(index));
  }

  config(index: number): Options {
    return toConfig(this.#values[index]);
  }

  requiredConfig(index: number): Options {
    return toConfig(this.#required(index));
  }
}

/** The commitment of a config; like Agave nodes, `finalized` if the commitment is missing or unknown. */
export function commitmentOf(config: Options, key = 'commitment'): CommitmentLevel {
  const value = config[key];
  return value === 'processed' || value === 'confirmed' ? value : 'finalized';
}

export function blockCommitment(config: Options): 'confirmed' | 'finalized' {
  const commitment = commitmentOf(config);
  if (commitment === 'processed') throw invalidParams('Method does not support commitment below `confirmed`');
  return commitment;
}

export function optionalNumber(config: Options, key: string): number | null {
  const value = config[key];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) throw wrongType(value, 'u64');
  return value;
}

export function optionalString(config: Options, key: string): string | null {
  const value = config[key];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw wrongType(value, 'a string');
  return value;
}

export function optionalEnum<T extends string>(
  config: Options,
  key: string,
  variants: readonly T[],
): T | null {
  const value = optionalString(config, key);
  if (value === null) return null;
  const variant = variants.find((item) => item === value);
  if (variant === undefined) {
    const list = variants.map((item) => `\`${item}\``).join(', ');
    throw invalidParams(`Invalid params: unknown variant \`${value}\`, expected one of ${list}.`);
  }
  return variant;
}

export function flag(config: Options, key: string, fallback = false): boolean {
  const value = config[key];
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'boolean') throw wrongType(value, 'a boolean');
  return value;
}

export function nested(config: Options, key: string): Options | null {
  return config[key] === undefined || config[key] === null ? null : toConfig(config[key]);
}

export function stringsOf(config: Options, key: string): string[] {
  return new Params([config[key]]).strings(0);
}

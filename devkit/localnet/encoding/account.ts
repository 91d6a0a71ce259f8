import { compress, init } from '@bokuweb/zstd-wasm';
import type { StoredAccount } from '../chain/vm.ts';
import { parseAccount } from '../parsing/accounts.ts';
import { invalidParams } from '../rpc/errors.ts';
import { toBase58, toBase64 } from './bytes.ts';

export const ACCOUNT_ENCODINGS = ['binary', 'base58', 'base64', 'base64+zstd', 'jsonParsed'] as const;
export type AccountEncoding = (typeof ACCOUNT_ENCODINGS)[number];

/** How to encode an account. `mintOf` reads a mint, because jsonParsed token accounts contain its decimals. */
export interface AccountOptions {
  readonly encoding: AccountEncoding;
  readonly slice: { readonly offset: number; readonly length: number } | null;
  readonly mintOf: (mint: string) => StoredAccount | null;
}

await init();

const MAX_BASE58_BYTES = 128;

function encodeData(account: StoredAccount, options: AccountOptions): unknown {
  const { encoding, slice } = options;
  if (encoding === 'jsonParsed') {
    const parsed = parseAccount(account, options.mintOf);
    if (parsed) return { ...parsed, space: account.data.length };
  }
  const data = slice ? account.data.slice(slice.offset, slice.offset + slice.length) : account.data;
  if (encoding === 'base64+zstd') return [toBase64(compress(data)), encoding];
  if (encoding !== 'binary' && encoding !== 'base58') return [toBase64(data), 'base64'];
  if (data.length > MAX_BASE58_BYTES) {
    throw invalidParams(
      'Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.',
    );
  }
  return encoding === 'binary' ? toBase58(data) : [toBase58(data), 'base58'];
}

export function encodeAccount(account: StoredAccount | null, options: AccountOptions): unknown {
  if (account === null) return null;
  return {
    data: encodeData(account, options),
    executable: account.executable,
    lamports: account.lamports,
    owner: account.owner,
    rentEpoch: account.rentEpoch,
    space: account.data.length,
  };
}

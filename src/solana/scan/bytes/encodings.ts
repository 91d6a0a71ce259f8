import { base58, base64 } from '@scure/base';
import { z } from 'zod';
import { ADDRESS_TEXT } from '../../../domain/address.ts';
import { SIGNATURE_TEXT } from '../../rpc/node-text.ts';
import { readSigned, versionOf } from '../../tx/signed-transaction.ts';

export interface TransactionBody {
  readonly signatures: readonly [string, ...string[]];
  /** Account keys in the order of the balances in `meta`; see `includesLoaded`. */
  readonly accounts: readonly { readonly address: string; readonly signer: boolean }[];
  /**
   * True if `accounts` includes the addresses from lookup tables. If false, the balances of `meta.loadedAddresses`
   * follow, writable addresses first.
   */
  readonly includesLoaded: boolean;
  /** Transaction version in the signed bytes; null in encodings that have a separate `version` field. */
  readonly version: 'legacy' | number | null;
}

/**
 * An address as nodes return it. Only its length and alphabet are checked: no account can exist for other text of this
 * form.
 */
export const address = z.string().regex(ADDRESS_TEXT);
const signatures = z.tuple([z.string().regex(SIGNATURE_TEXT)], z.string());
const keyObject = z.object({ pubkey: address, signer: z.boolean() });

const accountsTransaction = z
  .object({ signatures, accountKeys: z.array(keyObject) })
  .transform(({ signatures: names, accountKeys }) => bodyOf(names, accountKeys));

const parsedTransaction = z
  .object({ signatures, message: z.object({ accountKeys: z.array(keyObject) }) })
  .transform(({ signatures: names, message }) => bodyOf(names, message.accountKeys));

const jsonTransaction = z
  .object({
    signatures,
    message: z.object({
      accountKeys: z.array(address),
      header: z.object({ numRequiredSignatures: z.number().int().positive() }),
    }),
  })
  .transform(
    ({ signatures: names, message: { accountKeys, header } }): TransactionBody => ({
      signatures: names,
      accounts: accountKeys.map((key, index) => ({
        address: key,
        signer: index < header.numRequiredSignatures,
      })),
      includesLoaded: false,
      version: null,
    }),
  );

/** Encodings `base64` and `base58`: the signed bytes of the transaction. */
const binaryTransaction = z
  .union([z.tuple([z.string(), z.literal('base64')]), z.tuple([z.string(), z.literal('base58')])])
  .transform(([text, encoding], context): TransactionBody => {
    const body = readBytes(text, encoding === 'base64' ? base64 : base58);
    if (body !== null) return body;
    context.addIssue({ code: 'custom', message: 'is not the signed bytes of a known transaction version' });
    return z.NEVER;
  });

/** The field `transaction` of a block's entry or of a getTransaction result, in any encoding. */
export const transactionBody: z.ZodType<TransactionBody> = z.union([
  accountsTransaction,
  parsedTransaction,
  jsonTransaction,
  binaryTransaction,
]);

function bodyOf(
  names: readonly [string, ...string[]],
  keys: readonly z.infer<typeof keyObject>[],
): TransactionBody {
  const accounts = keys.map(({ pubkey, signer }) => ({ address: pubkey, signer }));
  return { signatures: names, accounts, includesLoaded: true, version: null };
}

function readBytes(text: string, coder: { decode(text: string): Uint8Array }): TransactionBody | null {
  const raw = decodeOrNull(text, coder);
  const signed = raw === null ? null : readSigned(raw);
  const [first, ...others] = (signed?.signatures ?? []).map((signature) => base58.encode(signature));
  if (signed === null || first === undefined) return null;
  const { accounts, signers, message } = signed;
  return {
    signatures: [first, ...others],
    accounts: accounts.map((key, index) => ({ address: key, signer: index < signers.length })),
    includesLoaded: false,
    version: versionOf(message),
  };
}

function decodeOrNull(text: string, coder: { decode(text: string): Uint8Array }): Uint8Array | null {
  try {
    return coder.decode(text);
  } catch {
    return null;
  }
}

import { createPublicKey, verify } from 'node:crypto';
import { MAX_AGE } from '../chain/lifetime.ts';
import { allKeys } from '../chain/records.ts';
import { type SimulationResult, simulate } from '../chain/simulation.ts';
import { errorText } from '../chain/vm-errors.ts';
import { encodeAccount } from '../encoding/account.ts';
import { addressBytes, fromBase58, toBase64 } from '../encoding/bytes.ts';
import { encodeInner, encodeTokens } from '../encoding/transaction.ts';
import {
  type DecodedTransaction,
  decodeTransaction,
  VERSION_1_PREFIX,
  type WireMessage,
} from '../encoding/wire.ts';
import { accountOptions } from './accounts.ts';
import { type MethodTable, type NodeView, withContext } from './call.ts';
import { failures, invalidParams } from './errors.ts';
import {
  checkAddress,
  commitmentOf,
  flag,
  nested,
  type Options,
  optionalEnum,
  optionalNumber,
  optionalString,
  type Params,
  stringsOf,
} from './params.ts';

const MAX_PACKET_BYTES = 1232;
const MAX_VERSION_1_BYTES = 4096;
/** Maximum numbers of signatures, keys and instructions in a version-1 message (SIMD-0385). */
const VERSION_1_LIMITS = { signatures: 12, keys: 64, instructions: 64 };
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function decodeBytes(text: string, encoding: 'base58' | 'base64'): Uint8Array {
  if (encoding === 'base64') {
    const wrong = text.search(/[^A-Za-z0-9+/=]/);
    if (wrong >= 0)
      throw invalidParams(`invalid base64 encoding: InvalidByte(${wrong}, ${text.charCodeAt(wrong)})`);
    if (!BASE64.test(text)) throw invalidParams('invalid base64 encoding: InvalidPadding');
    return new Uint8Array(Buffer.from(text, 'base64'));
  }
  const bytes = fromBase58(text);
  if (bytes === null)
    throw invalidParams("invalid base58 encoding: InvalidCharacter { character: '?', index: 0 }");
  return bytes;
}

function decodeParam(params: Params, config: Options): DecodedTransaction {
  const raw = decodeBytes(
    params.string(0),
    optionalEnum(config, 'encoding', ['base58', 'base64']) ?? 'base58',
  );
  const maxBytes = raw[0] === VERSION_1_PREFIX ? MAX_VERSION_1_BYTES : MAX_PACKET_BYTES;
  if (raw.length > maxBytes) {
    throw invalidParams(
      `decoded solana_transaction::versioned::VersionedTransaction too large: ${raw.length} bytes (max: ${maxBytes} bytes)`,
    );
  }
  try {
    return decodeTransaction(raw);
  } catch {
    throw invalidParams(
      'failed to deserialize solana_transaction::versioned::VersionedTransaction: io error: failed to fill whole buffer',
    );
  }
}

function isWithinLimits({ version, header, keys, instructions }: WireMessage): boolean {
  const max = VERSION_1_LIMITS;
  return (
    version !== 1 ||
    (header.signatures <= max.signatures &&
      keys.length <= max.keys &&
      instructions.length <= max.instructions)
  );
}

function sanitize({ message, signatures }: DecodedTransaction): void {
  const { header, keys, instructions } = message;
  const count =
    keys.length +
    message.lookups.reduce((sum, item) => sum + item.writableIndexes.length + item.readonlyIndexes.length, 0);
  const isWellFormed =
    isWithinLimits(message) &&
    signatures.length === header.signatures &&
    header.signatures > header.readonlySigned &&
    header.signatures + header.readonlyUnsigned <= keys.length &&
    new Set(keys).size === keys.length &&
    instructions.every(
      (item) =>
        item.programIdIndex > 0 &&
        item.programIdIndex < count &&
        item.accounts.every((index) => index < count),
    );
  if (!isWellFormed)
    throw invalidParams('invalid transaction: Transaction failed to sanitize accounts offsets correctly');
}

/** DER prefix of an Ed25519 public key; the 32 bytes of the key follow. */
const ED25519_SPKI = Buffer.from('302a300506032b6570032100', 'hex');

function publicKey(address: string): ReturnType<typeof createPublicKey> {
  return createPublicKey({
    key: Buffer.concat([ED25519_SPKI, addressBytes(address)]),
    format: 'der',
    type: 'spki',
  });
}

function signaturesHold({ message, signatures }: DecodedTransaction): boolean {
  return signatures.every((signature, index) => {
    const bytes = fromBase58(signature);
    const key = message.keys[index];
    return bytes?.length === 64 && key !== undefined && verify(null, message.bytes, publicKey(key), bytes);
  });
}

/** The fields of a simulation result; a preflight error carries the same ones. */
function outcomeOf(simulation: SimulationResult): Record<string, unknown> {
  const returned = simulation.meta?.returnData ?? null;
  return {
    accounts: null,
    err: simulation.err,
    fee: simulation.meta?.feeLamports ?? null,
    innerInstructions: null,
    loadedAccountsDataSize: simulation.loadedBytes,
    loadedAddresses: null,
    logs: simulation.logs,
    postBalances: null,
    postTokenBalances: null,
    preBalances: null,
    preTokenBalances: null,
    replacementBlockhash: null,
    returnData: returned
      ? { data: [toBase64(returned.data), 'base64'], programId: returned.programId }
      : null,
    unitsConsumed: simulation.units,
  };
}

function sendTransaction(params: Params, view: NodeView): unknown {
  const config = params.config(1);
  const transaction = decodeParam(params, config);
  sanitize(transaction);
  if (!flag(config, 'skipPreflight')) preflight(transaction, config, view);
  if (signaturesHold(transaction)) {
    view.chain.sentTransactions.add(transaction);
    if (!view.dropsSends) view.chain.submit(transaction);
  }
  return transaction.signature;
}

function preflight(transaction: DecodedTransaction, config: Options, view: NodeView): void {
  if (!signaturesHold(transaction)) throw failures.signature();
  const block = view.at(commitmentOf(config, 'preflightCommitment'));
  const minimum = optionalNumber(config, 'minContextSlot');
  if (minimum !== null && block.slot < minimum) throw failures.minContextSlot(block.slot);
  const result = simulate(view.chain, transaction, { block, blockhashAge: view.blockhashAge });
  if (result.err !== null) throw failures.preflight(errorText(result.err), outcomeOf(result));
}

function accountsAfter(
  config: Options,
  simulation: SimulationResult,
  view: NodeView,
  block: ReturnType<NodeView['bank']>,
): unknown {
  const accountsConfig = nested(config, 'accounts');
  if (accountsConfig === null) return null;
  const addresses = stringsOf(accountsConfig, 'addresses').map(checkAddress);
  const limit = simulation.meta?.before.lamports.length ?? addresses.length;
  if (addresses.length > limit) throw invalidParams(`Too many accounts provided; max ${limit}`);
  if (simulation.err !== null) return addresses.map(() => null);
  const mintOf = (mint: string) => simulation.accountsAfter.get(mint) ?? view.chain.account(mint, block);
  const options = { ...accountOptions(accountsConfig, view, block, 'base64'), mintOf };
  return addresses.map((address) => {
    const account = simulation.accountsAfter.get(address) ?? view.chain.account(address, block);
    return encodeAccount(account?.lamports === 0n ? null : account, options);
  });
}

function simulateTransaction(params: Params, view: NodeView): unknown {
  const config = params.config(1);
  const checkSignatures = flag(config, 'sigVerify');
  const replace = flag(config, 'replaceRecentBlockhash');
  const wantsInner = flag(config, 'innerInstructions');
  if (checkSignatures && replace)
    throw invalidParams('sigVerify may not be used with replaceRecentBlockhash');
  optionalString(config, 'commitment');
  const transaction = decodeParam(params, config);
  const block = view.bank(config);
  sanitize(transaction);
  if (checkSignatures && !signaturesHold(transaction)) throw failures.signature();
  const result = simulate(view.chain, transaction, {
    block,
    blockhashAge: replace ? null : view.blockhashAge,
  });
  const { meta } = result;
  const keys = meta ? allKeys(transaction, meta.loaded) : [];
  return withContext(block, {
    ...outcomeOf(result),
    accounts: accountsAfter(config, result, view, block),
    unitsConsumed: result.err === null ? view.reportedUnits(result.units) : result.units,
    innerInstructions: wantsInner ? encodeInner(meta?.inner ?? [], keys, true) : null,
    ...(meta
      ? {
          loadedAddresses: meta.loaded,
          postBalances: meta.after.lamports,
          postTokenBalances: encodeTokens(meta.after),
          preBalances: meta.before.lamports,
          preTokenBalances: encodeTokens(meta.before),
        }
      : {}),
    replacementBlockhash: replace
      ? { blockhash: block.blockhash, lastValidBlockHeight: view.heightOf(block) + MAX_AGE }
      : null,
  });
}

export const sendMethods: MethodTable = { sendTransaction, simulateTransaction };

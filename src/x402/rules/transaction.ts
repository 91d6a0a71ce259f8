import { base58 } from '@scure/base';
import { isDomainError } from '../../domain/errors.ts';
import { verifySignature } from '../../signing/ed25519.ts';
import {
  type DecodedInstruction,
  type DecodedMessage,
  decodeMessage,
  hasNonceLifetime,
  messageHashOf,
} from '../../solana/tx/message.ts';
import { isTokenProgram } from '../../solana/tx/programs.ts';
import { readSigned, type SignedTransaction } from '../../solana/tx/signed-transaction.ts';
import type { Checked, ExactPayment } from '../terms.ts';
import type { Fees } from './exact-fees.ts';
import { BrokenRule, REASONS, refuse } from './reasons.ts';

export interface WireTransaction {
  readonly signed: SignedTransaction;
  readonly message: DecodedMessage;
}

/** Size limit of a legacy or version 0 transaction. */
const MAX_WIRE_BYTES = 1232;
const SIGNATURE_BYTES = 64;

/** Decodes the wire bytes and runs `check`. Converts a broken rule to a refusal, with the payer if it could be read. */
export function checkWire(wire: Uint8Array, check: (transaction: WireTransaction) => ExactPayment): Checked {
  let payer: string | null = null;
  try {
    const transaction = readWire(wire);
    payer = payerOf(transaction.message);
    checkLifetime(transaction.message);
    return { ok: true, payment: check(transaction) };
  } catch (error) {
    if (!(error instanceof BrokenRule)) throw error;
    return { ok: false, reason: error.reason, message: error.message, payer };
  }
}

/** @throws BrokenRule */
export function readWire(wire: Uint8Array): WireTransaction {
  if (wire.length > MAX_WIRE_BYTES)
    refuseUndecodable(`${wire.length} bytes; at most ${MAX_WIRE_BYTES} are allowed`);
  const signed = readSigned(wire);
  if (signed === null) refuseUndecodable('the bytes are not a legacy or version 0 transaction');
  // Nodes refuse a signature count in more than one byte, which would be a second encoding of the same transaction.
  if (wire.length !== 1 + SIGNATURE_BYTES * signed.signatures.length + signed.message.length)
    refuseUndecodable('the signature count is not encoded in one byte, or bytes follow the message');
  return { signed, message: readPaymentMessage(signed.message) };
}

/** @throws BrokenRule */
export function readPaymentMessage(bytes: Uint8Array): DecodedMessage {
  const message = decodeOrRefuse(bytes);
  if (message.lookupTableCount > 0) refuseUndecodable('address lookup tables are not allowed');
  if (new Set(message.accounts).size < message.accounts.length) refuseUndecodable('an account appears twice');
  if (!message.writable.includes(message.feePayer)) refuseUndecodable('the fee payer is not writable');
  return message;
}

function decodeOrRefuse(bytes: Uint8Array): DecodedMessage {
  try {
    return decodeMessage(bytes);
  } catch (error) {
    if (isDomainError(error)) refuseUndecodable(error.message);
    throw error;
  }
}

/** Refuses a durable nonce, with which a message never expires and could not be proved dead. @throws BrokenRule */
function checkLifetime(message: DecodedMessage): void {
  if (hasNonceLifetime(message))
    refuse(REASONS.computeLimit, 'the transaction uses a durable nonce: use a recent blockhash');
}

/**
 * Verifies each signature over the message. With `may-be-missing`, 64 zero bytes are a placeholder for the fee
 * payer's later signature. Returns the fee payer's signature in base58, or null if it is missing.
 * @throws BrokenRule
 */
export function checkSignatures(
  { message, signers, signatures }: SignedTransaction,
  feePayer: 'must-sign' | 'may-be-missing',
): string | null {
  const encoded = signatures.map((signature, index) => {
    const signer = signers[index] ?? '';
    const isMissing = signature.every((byte) => byte === 0);
    if (isMissing && index === 0 && feePayer === 'may-be-missing') return null;
    if (isMissing) refuse(REASONS.signature, `the signature of ${signer} is missing`);
    if (!verifySignature(signer, message, signature))
      refuse(REASONS.signature, `signature ${index + 1} is not a signature of ${signer} over the message`);
    return base58.encode(signature);
  });
  return encoded[0] ?? null;
}

function refuseUndecodable(reason: string): never {
  refuse(REASONS.undecodable, `the transaction could not be decoded: ${reason}`);
}

export function paymentOf(
  { signed, message }: WireTransaction,
  asset: string,
  {
    source,
    authority,
    amount,
    destination,
  }: Pick<TransferInstruction, 'authority' | 'amount' | 'destination'> & { readonly source: string | null },
  fees: Fees,
  signature: string | null,
): ExactPayment {
  return {
    messageHash: messageHashOf(signed.message),
    payer: authority,
    sourceAccount: source,
    feePayer: message.feePayer,
    signature,
    blockhash: message.blockhash,
    asset,
    amount,
    destination,
    ...fees,
  };
}

/** A decoded token transfer. `mint` and `decimals` are null for Transfer, which does not have these. */
export interface TransferInstruction {
  readonly source: string;
  readonly mint: string | null;
  readonly destination: string;
  readonly authority: string;
  /** True if the authority signs, or a further account, which can be a member of a multisig. */
  readonly isAuthorized: boolean;
  readonly amount: bigint;
  readonly decimals: number | null;
}

const TRANSFER = 3;
const TRANSFER_CHECKED = 12;

/**
 * Decodes Transfer or TransferChecked; null for any other instruction. Trailing bytes are allowed, as in token
 * programs.
 */
export function readTransfer({ program, accounts, data }: DecodedInstruction): TransferInstruction | null {
  const isChecked = data[0] === TRANSFER_CHECKED;
  if (!isTokenProgram(program) || !(isChecked || data[0] === TRANSFER)) return null;
  if (data.length < (isChecked ? 10 : 9)) return null;
  const addresses = accounts.map(({ address }) => address);
  const [source, mint] = isChecked ? addresses : [addresses[0], null];
  const [destination, authority] = addresses.slice(isChecked ? 2 : 1);
  if (source === undefined || mint === undefined) return null;
  if (destination === undefined || authority === undefined) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const amount = view.getBigUint64(1, true);
  const isAuthorized = accounts.slice(isChecked ? 3 : 2).some(({ signer }) => signer);
  const decimals = isChecked ? view.getUint8(9) : null;
  return { source, mint, destination, authority, isAuthorized, amount, decimals };
}

/** The token transfers of a message, in order. */
export function transfersIn({ instructions }: DecodedMessage): readonly TransferInstruction[] {
  return instructions.flatMap((instruction) => readTransfer(instruction) ?? []);
}

/** The authority of the first token transfer of a message; null if there is no transfer. */
function payerOf(message: DecodedMessage): string | null {
  return transfersIn(message)[0]?.authority ?? null;
}

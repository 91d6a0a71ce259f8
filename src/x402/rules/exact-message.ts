import type { DecodedInstruction, DecodedMessage } from '../../solana/tx/message.ts';
import type { Limits, Terms } from '../terms.ts';
import { ataOf } from './atas.ts';
import { checkExtras } from './exact-extras.ts';
import { checkFees, type Fees } from './exact-fees.ts';
import { REASONS, refuse } from './reasons.ts';
import { readTransfer, type TransferInstruction } from './transfers.ts';

export type MessageTerms = Pick<
  Terms,
  'asset' | 'tokenProgram' | 'decimals' | 'amount' | 'payTo' | 'feePayer' | 'memo'
>;

export interface ExactBounds {
  /** Addresses of all our fee payers, retired ones included. */
  readonly managed: readonly string[];
  readonly limits: Limits;
}

export interface ExactMessage {
  readonly transfer: TransferInstruction;
  readonly fees: Fees;
}

const MIN_INSTRUCTIONS = 3;
const MAX_INSTRUCTIONS = 7;

/**
 * All rules of scheme `exact` that need no signature. Applied to presented payments, and again before a fee payer
 * signs.
 * @throws BrokenRule Source: scheme_exact_svm.
 */
export function checkExactMessage(
  message: DecodedMessage,
  terms: MessageTerms,
  { managed, limits }: ExactBounds,
): ExactMessage {
  checkFeePayer(message, terms, managed);
  const { instructions, signers } = message;
  if (signers.length > limits.maxSigners)
    refuse(
      REASONS.signers,
      `the transaction has ${signers.length} signers; ${limits.maxSigners} are allowed`,
    );
  if (instructions.length < MIN_INSTRUCTIONS || instructions.length > MAX_INSTRUCTIONS)
    refuse(
      REASONS.length,
      `the transaction has ${instructions.length} instructions; ${MIN_INSTRUCTIONS} to ${MAX_INSTRUCTIONS} are allowed`,
    );
  const fees = checkFees(message, limits, terms);
  const transfer = checkTransfer(instructions[2], terms, managed);
  checkIsolation(message, managed);
  checkExtras(instructions.slice(3), terms.memo);
  return { transfer, fees };
}

function checkFeePayer({ feePayer }: DecodedMessage, terms: MessageTerms, managed: readonly string[]): void {
  if (!managed.includes(terms.feePayer))
    refuse(REASONS.feePayerNotManaged, `the fee payer ${terms.feePayer} is not one of this facilitator`);
  if (feePayer !== terms.feePayer)
    refuse(REASONS.feePayerMismatch, `the fee payer is ${feePayer}; it must be ${terms.feePayer}`);
}

/** The transfer matches the terms. No key of ours is its source, its authority, or the owner of its destination. */
function checkTransfer(
  instruction: DecodedInstruction | undefined,
  terms: MessageTerms,
  managed: readonly string[],
): TransferInstruction {
  const transfer = readExactTransfer(instruction, terms.tokenProgram);
  const { asset, tokenProgram, payTo } = terms;
  const { source, authority, destination } = transfer;
  if (managed.includes(authority) || managed.includes(payTo))
    refuse(REASONS.feePayerPays, 'a fee payer is the authority or the recipient of the transfer');
  if (transfer.mint !== asset)
    refuse(REASONS.mint, `the transfer is of mint ${transfer.mint}; it must be ${asset}`);
  if (transfer.decimals !== terms.decimals)
    refuse(REASONS.mint, `the transfer names ${transfer.decimals} decimals; the mint has ${terms.decimals}`);
  if (transfer.amount !== terms.amount)
    refuse(REASONS.amount, `the transfer is of ${transfer.amount} base units; it must be ${terms.amount}`);
  if (destination !== ataOf(payTo, asset, tokenProgram))
    refuse(
      REASONS.recipient,
      `the transfer credits ${destination}; it must be the associated token account of ${payTo}`,
    );
  if (source === destination)
    refuse(REASONS.recipient, `the transfer credits the account that it debits: ${source}`);
  if (managed.some((key) => source === ataOf(key, asset, tokenProgram)))
    refuse(REASONS.feePayerPays, `the source of the transfer, ${source}, belongs to a fee payer`);
  return transfer;
}

/** Only TransferChecked: no trailing bytes, no multisig or transfer hook accounts, and the authority signs. */
function readExactTransfer(
  instruction: DecodedInstruction | undefined,
  tokenProgram: string,
): TransferInstruction {
  const isExact =
    instruction?.program === tokenProgram &&
    instruction.data.length === 10 &&
    instruction.accounts.length === 4;
  const transfer = isExact ? readTransfer(instruction) : null;
  if (transfer === null || transfer.mint === null)
    refuse(
      REASONS.noTransfer,
      `instruction 3 must be TransferChecked of ${tokenProgram}, with 4 accounts and 10 bytes of data`,
    );
  if (instruction?.accounts[3]?.signer !== true)
    refuse(REASONS.noTransfer, `the authority of the transfer, ${transfer.authority}, is not a signer`);
  return transfer;
}

/** Our keys appear only as the message's fee payer. Programs could use the signature at any other position. */
function checkIsolation(
  { instructions, accounts, feePayer }: DecodedMessage,
  managed: readonly string[],
): void {
  const [, ...others] = accounts;
  const named = others.find((address) => managed.includes(address));
  const isUsed = instructions.some((instruction) =>
    instruction.accounts.some(({ address }) => address === feePayer),
  );
  if (named === undefined && !isUsed) return;
  refuse(REASONS.feePayerIncluded, `the transaction uses the fee payer ${named ?? feePayer} as an account`);
}

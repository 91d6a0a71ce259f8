import { isDomainError } from '../../domain/errors.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';
import type { DecodedInstruction, DecodedMessage } from '../../solana/tx/message.ts';
import { MEMO_PROGRAM } from '../../solana/tx/programs.ts';
import type { Checked, Limits, Terms } from '../terms.ts';
import { checkFees, type Fees } from './exact-fees.ts';
import { REASONS, refuse } from './reasons.ts';
import {
  checkSignatures,
  checkWire,
  paymentOf,
  readTransfer,
  type TransferInstruction,
} from './transaction.ts';

type MessageTerms = Pick<
  Terms,
  'asset' | 'tokenProgram' | 'decimals' | 'amount' | 'payTo' | 'feePayer' | 'memo'
>;

interface ExactBounds {
  /** Addresses of all our fee payers, retired ones included. */
  readonly managed: readonly string[];
  readonly limits: Limits;
}

const MIN_INSTRUCTIONS = 3;
const MAX_INSTRUCTIONS = 7;
/** Wallets add Lighthouse assertions to transactions that they sign. */
export const LIGHTHOUSE_PROGRAM = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95';

/**
 * Checks that wire bytes pay the terms by scheme `exact`, versions 1 and 2. Calls no node; cheap checks come first.
 * The fee payer may have signed or not. Refusals have codes of version 2: see `reasonOfVersion1`. Source:
 * scheme_exact_svm.
 */
export function checkExact(wire: Uint8Array, terms: Terms, bounds: ExactBounds): Checked {
  return checkWire(wire, (read) => {
    const { transfer, fees } = checkExactMessage(read.message, terms, bounds);
    const signature = checkSignatures(read.signed, 'may-be-missing');
    return paymentOf(read, terms.asset, transfer, fees, signature);
  });
}

/**
 * All rules of scheme `exact` that need no signature. Applied to presented payments, and again before a fee payer
 * signs.
 * @throws BrokenRule Source: scheme_exact_svm.
 */
export function checkExactMessage(
  message: DecodedMessage,
  terms: MessageTerms,
  { managed, limits }: ExactBounds,
): { readonly transfer: TransferInstruction; readonly fees: Fees } {
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

const ORDINALS = ['fourth', 'fifth', 'sixth', 'seventh'];

/**
 * Instructions after the transfer: Lighthouse assertions, and at most one memo without accounts. A `memo` of the
 * terms is required.
 * @throws BrokenRule
 */
function checkExtras(extras: readonly DecodedInstruction[], memo: string | null): void {
  extras.forEach(({ program, accounts }, index) => {
    const reason = `invalid_exact_svm_payload_unknown_${ORDINALS[index]}_instruction`;
    if (program !== MEMO_PROGRAM && program !== LIGHTHOUSE_PROGRAM)
      refuse(
        reason,
        `instruction ${index + 4} calls ${program}; only memo and Lighthouse may follow the transfer`,
      );
    if (program === MEMO_PROGRAM && accounts.length > 0)
      refuse(reason, `instruction ${index + 4} is a memo with accounts; it must have none`);
  });
  const memos = extras.filter(({ program }) => program === MEMO_PROGRAM).length;
  if (memos > 1) refuse(REASONS.memoCount, `the transaction has ${memos} memos; one is allowed`);
  if (memo !== null) checkOnlyMemo(extras, memo);
}

/** Exactly one instruction must be a memo, and equal `memo` in UTF-8 bytes. @throws BrokenRule */
export function checkOnlyMemo(instructions: readonly DecodedInstruction[], memo: string): void {
  const memos = instructions.filter(({ program }) => program === MEMO_PROGRAM);
  const [found] = memos;
  if (found === undefined || memos.length > 1)
    refuse(REASONS.memoCount, `the transaction has ${memos.length} memos; it must have one: ${memo}`);
  if (!Buffer.from(memo, 'utf8').equals(found.data))
    refuse(REASONS.memo, `the memo of the transaction must be ${memo}`);
}

export function hasMemo(instructions: readonly DecodedInstruction[], memo: string): boolean {
  const text = Buffer.from(memo, 'utf8');
  return instructions.some(({ program, data }) => program === MEMO_PROGRAM && text.equals(data));
}

const MAX_ATAS = 4096;
const knownAtas = new Map<string, string | null>();

/** Cached `deriveAta`, which takes a millisecond. Null if the owner is off the curve. */
export function ataOf(owner: string, mint: string, program: string): string | null {
  const key = `${owner} ${mint} ${program}`;
  const known = knownAtas.get(key);
  if (known !== undefined) return known;
  const [oldest] = knownAtas.keys();
  if (knownAtas.size >= MAX_ATAS && oldest !== undefined) knownAtas.delete(oldest);
  let ata: string | null = null;
  try {
    ata = deriveAta(owner, mint, program);
  } catch (error) {
    if (!isDomainError(error)) throw error;
  }
  knownAtas.set(key, ata);
  return ata;
}

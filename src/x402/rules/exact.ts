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
  /** Addresses of all our fee payers, including those that new quotes no longer name. */
  readonly managed: readonly string[];
  readonly limits: Limits;
}

const MIN_INSTRUCTIONS = 3;
const MAX_INSTRUCTIONS = 7;
/** Allowed because wallets add Lighthouse assertions to the transactions that they sign. */
export const LIGHTHOUSE_PROGRAM = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95';

/**
 * Checks that wire bytes pay the terms by scheme `exact`, versions 1 and 2. Calls no node. The fee payer's signature
 * can be missing. Refusals have codes of version 2: see `reasonOfVersion1`. Source: scheme_exact_svm.
 */
export function checkExact(wire: Uint8Array, terms: Terms, bounds: ExactBounds): Checked {
  return checkWire(wire, (transaction) => {
    const { transfer, fees } = checkExactMessage(transaction.message, terms, bounds);
    const signature = checkSignatures(transaction.signed, 'may-be-missing');
    return paymentOf(transaction, terms.asset, transfer, fees, signature);
  });
}

/**
 * Checks all rules of scheme `exact` that need no signature. The signer applies these again before a fee payer signs.
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
      `the transaction has ${signers.length} signers; at most ${limits.maxSigners} are allowed`,
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
    refuse(REASONS.feePayerNotManaged, `this facilitator does not sign for the fee payer ${terms.feePayer}`);
  if (feePayer !== terms.feePayer)
    refuse(REASONS.feePayerMismatch, `the fee payer is ${feePayer}; it must be ${terms.feePayer}`);
}

/** Checks that the transfer matches the terms, and that no fee payer is its authority or owns one of its accounts. */
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
    refuse(REASONS.mint, `the transfer has mint ${transfer.mint}; the terms require ${asset}`);
  if (transfer.decimals !== terms.decimals)
    refuse(REASONS.mint, `the transfer has ${transfer.decimals} decimals; the mint has ${terms.decimals}`);
  if (transfer.amount !== terms.amount)
    refuse(
      REASONS.amount,
      `the transfer has ${transfer.amount} base units; the terms require ${terms.amount}`,
    );
  if (destination !== ataOf(payTo, asset, tokenProgram))
    refuse(
      REASONS.recipient,
      `the transfer credits ${destination}, which is not the associated token account of ${payTo}`,
    );
  if (source === destination)
    refuse(
      REASONS.recipient,
      `the source and the destination of the transfer are the same account: ${source}`,
    );
  if (managed.some((key) => source === ataOf(key, asset, tokenProgram)))
    refuse(REASONS.feePayerPays, `the source of the transfer, ${source}, belongs to a fee payer`);
  return transfer;
}

/** Accepts only TransferChecked without trailing bytes and without accounts of a multisig or transfer hook. */
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

/**
 * Checks that our keys appear only as the message's fee payer. A program that gets one as an account could use its
 * signature.
 */
function checkIsolation(
  { instructions, accounts, feePayer }: DecodedMessage,
  managed: readonly string[],
): void {
  const [, ...others] = accounts;
  const otherAccount = others.find((address) => managed.includes(address));
  const isUsed = instructions.some((instruction) =>
    instruction.accounts.some(({ address }) => address === feePayer),
  );
  if (otherAccount === undefined && !isUsed) return;
  refuse(
    REASONS.feePayerIncluded,
    `the transaction uses the fee payer ${otherAccount ?? feePayer} as an account`,
  );
}

const ORDINALS = ['fourth', 'fifth', 'sixth', 'seventh'];

/**
 * Checks the instructions after the transfer: only Lighthouse assertions and at most one memo, without accounts, are
 * allowed. If the terms have a `memo`, it is required.
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
  const memoCount = extras.filter(({ program }) => program === MEMO_PROGRAM).length;
  if (memoCount > 1)
    refuse(REASONS.memoCount, `the transaction has ${memoCount} memos; at most one is allowed`);
  if (memo !== null) checkOnlyMemo(extras, memo);
}

/** Checks that exactly one instruction is a memo, and that its bytes are `memo` in UTF-8. @throws BrokenRule */
export function checkOnlyMemo(instructions: readonly DecodedInstruction[], memo: string): void {
  const memos = instructions.filter(({ program }) => program === MEMO_PROGRAM);
  const [found] = memos;
  if (found === undefined || memos.length > 1)
    refuse(REASONS.memoCount, `the transaction has ${memos.length} memos; it must have exactly one: ${memo}`);
  if (!Buffer.from(memo, 'utf8').equals(found.data))
    refuse(REASONS.memo, `the memo of the transaction must be ${memo}`);
}

export function hasMemo(instructions: readonly DecodedInstruction[], memo: string): boolean {
  const text = Buffer.from(memo, 'utf8');
  return instructions.some(({ program, data }) => program === MEMO_PROGRAM && text.equals(data));
}

const MAX_CACHED_ATAS = 4096;
const ataCache = new Map<string, string | null>();

/**
 * The associated token account; null if the owner is not an address. The owner can be off the curve: the wallet of a
 * seller may be the vault of a multisig. Cached, because the derivation takes a millisecond.
 */
export function ataOf(owner: string, mint: string, program: string): string | null {
  const key = `${owner} ${mint} ${program}`;
  const known = ataCache.get(key);
  if (known !== undefined) return known;
  const [oldest] = ataCache.keys();
  if (ataCache.size >= MAX_CACHED_ATAS && oldest !== undefined) ataCache.delete(oldest);
  let ata: string | null = null;
  try {
    ata = deriveAta(owner, mint, program, true);
  } catch (error) {
    if (!isDomainError(error)) throw error;
  }
  ataCache.set(key, ata);
  return ata;
}

import type { TransactionError } from '../chain/vm-errors.ts';

/** Sentences of the runtime for errors of a whole transaction. */
const TRANSACTION_TEXTS: Readonly<Record<string, string>> = {
  AccountInUse: 'Account in use',
  AccountLoadedTwice: 'Account loaded twice',
  AccountNotFound: 'Attempt to debit an account but found no record of a prior credit.',
  ProgramAccountNotFound: 'Attempt to load a program that does not exist',
  InsufficientFundsForFee: 'Insufficient funds for fee',
  InvalidAccountForFee: 'This account may not be used to pay transaction fees',
  AlreadyProcessed: 'This transaction has already been processed',
  BlockhashNotFound: 'Blockhash not found',
  CallChainTooDeep: 'Loader call chain is too deep',
  MissingSignatureForFee: 'Transaction requires a fee but has no signature present',
  InvalidAccountIndex: 'Transaction contains an invalid account reference',
  SignatureFailure: 'Transaction did not pass signature verification',
  InvalidProgramForExecution: 'This program may not be used for executing instructions',
  SanitizeFailure: 'Transaction failed to sanitize accounts offsets correctly',
  AddressLookupTableNotFound: "Transaction loads an address table account that doesn't exist",
  InvalidAddressLookupTableOwner: 'Transaction loads an address table account with an invalid owner',
  InvalidAddressLookupTableData: 'Transaction loads an address table account with invalid data',
  InvalidAddressLookupTableIndex: 'Transaction address table lookup uses an invalid index',
  TooManyAccountLocks: 'Transaction locked too many accounts',
};

/** Sentences of the runtime for errors of an instruction. */
const INSTRUCTION_TEXTS: Readonly<Record<string, string>> = {
  GenericError: 'generic instruction error',
  InvalidArgument: 'invalid program argument',
  InvalidInstructionData: 'invalid instruction data',
  InvalidAccountData: 'invalid account data for instruction',
  AccountDataTooSmall: 'account data too small for instruction',
  InsufficientFunds: 'insufficient funds for instruction',
  IncorrectProgramId: 'incorrect program id for instruction',
  MissingRequiredSignature: 'missing required signature for instruction',
  AccountAlreadyInitialized: 'instruction requires an uninitialized account',
  UninitializedAccount: 'instruction requires an initialized account',
  NotEnoughAccountKeys: 'insufficient account keys for instruction',
  ProgramFailedToComplete: 'Program failed to complete',
  ComputationalBudgetExceeded: 'Computational budget exceeded',
  InvalidAccountOwner: 'Invalid account owner',
  IllegalOwner: 'Provided owner is not allowed',
  UnsupportedProgramId: 'Unsupported program id',
  InvalidSeeds: 'Could not create program address with signer seeds',
};

function instructionText(error: unknown): string {
  if (typeof error === 'string') return INSTRUCTION_TEXTS[error] ?? error;
  const code = typeof error === 'object' && error !== null && 'Custom' in error ? error.Custom : undefined;
  return typeof code === 'number'
    ? `custom program error: 0x${code.toString(16)}`
    : 'generic instruction error';
}

/** The sentence that a node puts into the message of a failed preflight. */
export function errorText(error: TransactionError): string {
  if (typeof error === 'string') return TRANSACTION_TEXTS[error] ?? error;
  const instruction = error['InstructionError'];
  if (Array.isArray(instruction)) {
    return `Error processing Instruction ${String(instruction[0])}: ${instructionText(instruction[1])}`;
  }
  const rent = error['InsufficientFundsForRent'];
  if (typeof rent === 'object' && rent !== null && 'account_index' in rent) {
    return `Transaction results in an account (${String(rent.account_index)}) with insufficient funds for rent`;
  }
  if ('DuplicateInstruction' in error) {
    return `Transaction contains a duplicate instruction (${String(error['DuplicateInstruction'])}) that is not allowed`;
  }
  return JSON.stringify(error);
}

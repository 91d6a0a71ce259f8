import type { StatusReason } from '../../domain/settlement.ts';
import type { TokenHold } from '../../domain/token-holds.ts';
import { allowsHooks, TOKEN_RULES, type TokenPolicy } from '../../domain/token-rules.ts';
import { NATIVE_MINT, NATIVE_MINT_2022 } from '../../shims/spl-token.ts';
import type { MintInfo } from './mint.ts';
import type { TokenAccountInfo } from './token-account.ts';

const WRAPPED_SOL: ReadonlySet<string> = new Set([NATIVE_MINT.toBase58(), NATIVE_MINT_2022.toBase58()]);

const EXTENSION_RISKS: Readonly<Record<string, string>> = {
  nonTransferable: 'tokens of this mint cannot be transferred',
  permanentDelegate: 'a permanent delegate can take the tokens of any holder',
  mintCloseAuthority: 'the issuer can close the mint account',
  transferHook: 'a program chosen by the issuer runs in every transfer',
  confidentialTransferMint: 'its balances can be confidential',
  transferFeeConfig: 'a part of every transfer is withheld as a fee',
  pausableConfig: 'the issuer can pause its transfers',
  defaultAccountState: 'its new token accounts can start frozen',
};

/**
 * Whether a token can be paid to a token account. `mayPass`: the issuer, or the owner of the account, can remove the
 * reason, so the payment waits for that.
 */
export type TokenVerdict =
  | { readonly ok: true; readonly createAta: boolean; readonly memoRequired: boolean }
  | { readonly ok: false; readonly mayPass: boolean; readonly reason: StatusReason };

/**
 * Decides whether a token can be paid to `account`, the associated token account of `destination`. A null account
 * must be created first. `policy` overrides single rules: `transferHook: 'allow'` permits the hook's extra accounts,
 * and `wrappedSol: 'allow'` permits wrapped SOL as a token.
 * Source: docs/interface.md, Withdrawal rules 6.
 */
export function tokenPolicy(
  mint: MintInfo,
  account: TokenAccountInfo | null,
  destination: string,
  policy: TokenPolicy = {},
): TokenVerdict {
  const rules = { ...TOKEN_RULES, ...policy };
  if (WRAPPED_SOL.has(mint.address) && rules['wrappedSol'] !== 'allow') {
    return refusal(
      'wrapped_sol',
      'wrapped SOL cannot be withdrawn as a token: withdraw the asset SOL instead',
    );
  }
  const extensionRefusal = refusedExtension(mint, policy);
  if (extensionRefusal !== null) return { ok: false, mayPass: false, reason: extensionRefusal };
  if (mint.hookProgram !== null && !allowsHooks(rules)) {
    return refusal('transfer_hook', `the token calls program ${mint.hookProgram} in every transfer`);
  }
  const reason = account === null ? null : accountReason(mint, account, destination);
  if (reason !== null) return { ok: false, mayPass: false, reason };
  const hold = holdReason(mint, account);
  if (hold !== null) return { ok: false, mayPass: true, reason: hold };
  return { ok: true, createAta: account === null, memoRequired: account?.memoRequired ?? false };
}

/** Reason of the first extension that forbids all payments and deposits of a token; null if there is none. */
export function refusedExtension(
  { extensions }: Pick<MintInfo, 'extensions'>,
  policy: TokenPolicy = {},
): StatusReason | null {
  const rules = { ...TOKEN_RULES, ...policy };
  const refusedName = extensions.find((name) => (rules[name] ?? 'reject') === 'reject');
  return refusedName === undefined ? null : extensionReason(refusedName);
}

/**
 * Powers of the issuer over a token, for the operator who lists it. A message ends in the holder's address, if known.
 */
export function issuerPowers({
  extensions,
  freezeAuthority,
  permanentDelegate,
}: Pick<MintInfo, 'extensions' | 'freezeAuthority' | 'permanentDelegate'>): readonly StatusReason[] {
  const powers = extensions
    .filter((name) => name in EXTENSION_RISKS || !(name in TOKEN_RULES))
    .map((name) => extensionReason(name, name === 'permanentDelegate' ? permanentDelegate : null));
  if (freezeAuthority === null) return powers;
  const message = `the freeze authority of the token can freeze the token account of any holder: ${freezeAuthority}`;
  return [...powers, { code: 'freeze_authority', message }];
}

function extensionReason(name: string, address: string | null = null): StatusReason {
  const suffix = address === null ? '' : `: ${address}`;
  return {
    code: `extension_${name}`,
    message: `the token has the extension ${name}: ${EXTENSION_RISKS[name] ?? 'this extension is not known to be safe'}${suffix}`,
  };
}

/** Reason to hold a payment that the issuer, or the owner of the account, can remove; null if there is none. */
function holdReason({ address, paused, defaultFrozen }: MintInfo, account: TokenAccountInfo | null) {
  const reason = (code: TokenHold, message: string): StatusReason => ({ code, message });
  if (paused) return reason('mint_paused', `the issuer has paused all transfers of ${address}`);
  if (account === null && defaultFrozen)
    return reason(
      'default_frozen',
      `new token accounts of ${address} start frozen: the customer must create a token account and have the issuer thaw it`,
    );
  if (account?.frozen === true)
    return reason('account_frozen', `the issuer of ${address} has frozen the destination's token account`);
  if (account?.acceptsTransfers === false)
    return reason(
      'confidential_only',
      `the destination's token account of ${address} accepts confidential transfers only: its owner must enable other transfers`,
    );
  return null;
}

function accountReason(mint: MintInfo, account: TokenAccountInfo, destination: string): StatusReason | null {
  if (account.mint !== mint.address)
    return { code: 'other_mint', message: 'the token account belongs to a different mint' };
  if (account.owner !== destination) {
    return { code: 'account_given_away', message: `the token account now belongs to ${account.owner}` };
  }
  return null;
}

function refusal(code: string, message: string): TokenVerdict {
  return { ok: false, mayPass: false, reason: { code, message } };
}

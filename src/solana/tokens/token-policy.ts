import type { StatusReason } from '../../domain/settlement.ts';
import type { TokenHold } from '../../domain/token-holds.ts';
import { allowsHooks, TOKEN_RULES, type TokenPolicy } from '../../domain/token-rules.ts';
import { NATIVE_MINT, NATIVE_MINT_2022 } from '../../shims/spl-token.ts';
import type { MintInfo } from './mint.ts';
import type { TokenAccountInfo } from './token-account.ts';

const WRAPPED_SOL: ReadonlySet<string> = new Set([NATIVE_MINT.toBase58(), NATIVE_MINT_2022.toBase58()]);

const REASONS: Readonly<Record<string, string>> = {
  nonTransferable: 'tokens of this mint cannot be transferred',
  permanentDelegate: 'a permanent delegate can take the tokens of any holder',
  mintCloseAuthority: 'its mint account can be closed',
  transferHook: 'a program of the issuer runs in every transfer',
  confidentialTransferMint: 'its balances can be hidden',
  transferFeeConfig: 'a part of every transfer is withheld',
  pausableConfig: 'its transfers can be paused',
  defaultAccountState: 'its new accounts may start frozen',
};

/**
 * Whether this token may be paid to this account (null = the account will be created). `mayPass`: the issuer, or the
 * owner of the account, can end the refusal, so the payment waits for that.
 */
export type TokenVerdict =
  | { readonly ok: true; readonly createAta: boolean; readonly memoRequired: boolean }
  | { readonly ok: false; readonly mayPass: boolean; readonly reason: StatusReason };

/**
 * May this token be paid to this associated token account of `destination`? `policy` overrides single rules.
 * `transferHook: 'allow'` allows the hook's extra accounts; `wrappedSol: 'allow'` allows wrapped SOL as a token.
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
    return refused('wrapped_sol', 'wrapped SOL is an asset of its own: withdraw the asset SOL instead');
  }
  const forbidden = refusedExtension(mint, policy);
  if (forbidden !== null) return { ok: false, mayPass: false, reason: forbidden };
  if (mint.hookProgram !== null && !allowsHooks(rules)) {
    return refused('transfer_hook', `the token calls program ${mint.hookProgram} in every transfer`);
  }
  const reason = account === null ? null : accountReason(mint, account, destination);
  if (reason !== null) return { ok: false, mayPass: false, reason };
  const stop = stopped(mint, account);
  if (stop !== null) return { ok: false, mayPass: true, reason: stop };
  return { ok: true, createAta: account === null, memoRequired: account?.memoRequired ?? false };
}

/** The extension that forbids all payments and deposits of a token; null if there is none. */
export function refusedExtension(
  { extensions }: Pick<MintInfo, 'extensions'>,
  policy: TokenPolicy = {},
): StatusReason | null {
  const rules = { ...TOKEN_RULES, ...policy };
  const bad = extensions.find((name) => (rules[name] ?? 'reject') === 'reject');
  return bad === undefined ? null : extensionReason(bad);
}

/** The powers that a mint gives its issuer, for operators who list the token; each with its address, if known. */
export function issuerPowers({
  extensions,
  freezeAuthority,
  permanentDelegate,
}: Pick<MintInfo, 'extensions' | 'freezeAuthority' | 'permanentDelegate'>): readonly StatusReason[] {
  const powers = extensions
    .filter((name) => name in REASONS || !(name in TOKEN_RULES))
    .map((name) => extensionReason(name, name === 'permanentDelegate' ? permanentDelegate : null));
  if (freezeAuthority === null) return powers;
  const message = `its freeze authority can freeze the token account of any holder: ${freezeAuthority}`;
  return [...powers, { code: 'freeze_authority', message }];
}

function extensionReason(name: string, address: string | null = null): StatusReason {
  const by = address === null ? '' : `: ${address}`;
  return {
    code: `extension_${name}`,
    message: `the token has the extension ${name}: ${REASONS[name] ?? 'it is not known to be safe'}${by}`,
  };
}

/** A stop by the issuer, or by the owner of the account, that they can end. */
function stopped({ address, paused, defaultFrozen }: MintInfo, account: TokenAccountInfo | null) {
  const stop = (code: TokenHold, message: string): StatusReason => ({ code, message });
  if (paused) return stop('mint_paused', `the issuer has paused all transfers of ${address}`);
  if (account === null && defaultFrozen)
    return stop(
      'default_frozen',
      `new token accounts of ${address} start frozen: the customer must open one, and have the issuer thaw it`,
    );
  if (account?.frozen === true)
    return stop('account_frozen', `the issuer of ${address} has frozen the destination's token account`);
  if (account?.acceptsTransfers === false)
    return stop(
      'confidential_only',
      `the destination's token account of ${address} accepts confidential transfers only: its owner must enable other transfers`,
    );
  return null;
}

function accountReason(mint: MintInfo, account: TokenAccountInfo, destination: string): StatusReason | null {
  if (account.mint !== mint.address)
    return { code: 'other_mint', message: 'the token account holds another token' };
  if (account.owner !== destination) {
    return { code: 'account_given_away', message: `the token account now belongs to ${account.owner}` };
  }
  return null;
}

function refused(code: string, message: string): TokenVerdict {
  return { ok: false, mayPass: false, reason: { code, message } };
}

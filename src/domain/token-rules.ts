/** What to do with a mint that has an extension. `inspect` = decided by its present state. */
export const TOKEN_RULE_WORDS = ['allow', 'reject', 'inspect'] as const;

/** Rules that an operator sets over {@link TOKEN_RULES}. */
export type TokenPolicy = Readonly<Record<string, (typeof TOKEN_RULE_WORDS)[number]>>;

/** The rule for every mint extension, and for wrapped SOL; one that is not listed is rejected. */
export const TOKEN_RULES: TokenPolicy = {
  transferFeeConfig: 'allow',
  mintCloseAuthority: 'allow',
  confidentialTransferMint: 'allow',
  confidentialTransferFeeConfig: 'allow',
  confidentialMintBurn: 'allow',
  defaultAccountState: 'inspect',
  nonTransferable: 'reject',
  interestBearingConfig: 'allow',
  permanentDelegate: 'allow',
  transferHook: 'inspect',
  metadataPointer: 'allow',
  tokenMetadata: 'allow',
  groupPointer: 'allow',
  tokenGroup: 'allow',
  groupMemberPointer: 'allow',
  tokenGroupMember: 'allow',
  scaledUiAmountConfig: 'allow',
  pausableConfig: 'inspect',
  permissionedBurn: 'allow',
  wrappedSol: 'reject',
};

/** True where transfers may name the accounts that a mint's transfer hook demands. */
export function allowsHooks(policy: TokenPolicy): boolean {
  return { ...TOKEN_RULES, ...policy }['transferHook'] === 'allow';
}

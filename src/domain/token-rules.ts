/** How to treat a mint that has an extension. `inspect`: the current state of the extension decides. */
export const TOKEN_RULE_VALUES = ['allow', 'reject', 'inspect'] as const;

/** An operator's overrides of {@link TOKEN_RULES}. */
export type TokenPolicy = Readonly<Record<string, (typeof TOKEN_RULE_VALUES)[number]>>;

/** Rules for each mint extension and for wrapped SOL. An unlisted extension is rejected. */
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

/** True if the policy allows transfers with the accounts that a mint's transfer hook requires. */
export function allowsHooks(policy: TokenPolicy): boolean {
  return { ...TOKEN_RULES, ...policy }['transferHook'] === 'allow';
}

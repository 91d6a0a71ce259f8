/** A token amount in all the forms in which nodes write it. */
export interface UiTokenAmount {
  readonly amount: string;
  readonly decimals: number;
  readonly uiAmount: number | null;
  readonly uiAmountString: string;
}

function decimalText(amount: bigint, decimals: number): string {
  if (decimals === 0) return amount.toString();
  const digits = amount.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -decimals) : `${digits.slice(0, -decimals)}.${fraction}`;
}

/** The amount as account methods write it. */
export function uiAmount(amount: bigint, decimals: number): UiTokenAmount {
  const text = decimalText(amount, decimals);
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text };
}

/** The amount as blocks and transactions write it: zero has no `uiAmount`. */
export function storedUiAmount(amount: bigint, decimals: number): UiTokenAmount {
  const shown = uiAmount(amount, decimals);
  return amount === 0n ? { ...shown, uiAmount: null } : shown;
}

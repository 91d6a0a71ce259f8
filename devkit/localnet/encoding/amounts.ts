function decimalText(amount: bigint, decimals: number): string {
  if (decimals === 0) return amount.toString();
  const digits = amount.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -decimals) : `${digits.slice(0, -decimals)}.${fraction}`;
}

/** A token amount as account methods return it. */
export function uiAmount(amount: bigint, decimals: number) {
  const text = decimalText(amount, decimals);
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text };
}

/** A token amount as blocks and transactions contain it: `uiAmount` is null for zero. */
export function balanceUiAmount(amount: bigint, decimals: number) {
  const formatted = uiAmount(amount, decimals);
  return amount === 0n ? { ...formatted, uiAmount: null } : formatted;
}

/** The account at a position of an instruction; throws where there is none, so that the instruction stays unparsed. */
export function accountAt(accounts: readonly string[], index: number): string {
  const account = accounts[index];
  if (account === undefined) throw new RangeError(`instruction has no account ${index}`);
  return account;
}

import { addExtraAccountMetasForExecute } from '@solana/spl-token';
import {
  type Connection,
  PublicKey,
  TransactionInstruction,
  type AccountInfo as Web3Account,
} from '@solana/web3.js';
import { DomainError } from '../domain/errors.ts';
import type { Chain } from './chain.ts';
import { deriveAta, type MintInfo } from './tokens.ts';
import type { HookAccount } from './transactions.ts';

/**
 * The accounts that the mint's transfer hook wants behind the four of a transfer, read from the hook's own list on chain.
 * Empty for a mint without a hook. Throws DomainError AssetRejected where the hook wants a second signer.
 */
export async function resolveHookAccounts(
  chain: Chain,
  mint: MintInfo,
  transfer: { readonly source: string; readonly destination: string; readonly amount: bigint },
): Promise<HookAccount[]> {
  if (mint.hookProgram === null) return [];
  const key = (address: string): PublicKey => new PublicKey(address);
  const from = key(deriveAta(transfer.source, mint.address, mint.program));
  const to = key(deriveAta(transfer.destination, mint.address, mint.program));
  const [owner, token, hook] = [key(transfer.source), key(mint.address), key(mint.hookProgram)];
  const keys = [from, token, to, owner].map((pubkey) => ({ pubkey, isSigner: false, isWritable: false }));
  const instruction = new TransactionInstruction({
    programId: key(mint.program),
    keys,
    data: Buffer.alloc(0),
  });
  await addExtraAccountMetasForExecute(
    readerOf(chain),
    instruction,
    hook,
    from,
    token,
    to,
    owner,
    transfer.amount,
  );
  const extra = instruction.keys.slice(keys.length);
  if (extra.some((account) => account.isSigner)) {
    throw new DomainError('AssetRejected', `the transfer hook of ${mint.address} demands another signature`);
  }
  return extra.map(({ pubkey, isWritable }) => ({ address: pubkey.toBase58(), writable: isWritable }));
}

// spl-token reads accounts through a Connection and uses only this method of it.
function readerOf(chain: Chain): Connection {
  const reader = {
    async getAccountInfo(address: PublicKey): Promise<Web3Account<Buffer> | null> {
      const [account = null] = (await chain.accounts([address.toBase58()])).accounts;
      if (account === null) return null;
      const { executable, data } = account;
      return { lamports: 0, executable, owner: new PublicKey(account.owner), data: Buffer.from(data) };
    },
  };
  return reader as unknown as Connection;
}

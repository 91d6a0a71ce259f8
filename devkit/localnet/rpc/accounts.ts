import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../chain/programs.ts';
import { RECENT_BLOCKHASHES, recentBlockhashes } from '../chain/recent-blockhashes.ts';
import type { Block } from '../chain/records.ts';
import { readMint, readTokenAccount } from '../chain/tokens.ts';
import type { StoredAccount } from '../chain/vm.ts';
import {
  ACCOUNT_ENCODINGS,
  type AccountEncoding,
  type AccountOptions,
  encodeAccount,
} from '../encoding/account.ts';
import { uiAmount } from '../encoding/amounts.ts';
import { type MethodTable, type NodeView, withContext } from './call.ts';
import { invalidParams } from './errors.ts';
import { checkAddress, nested, type Options, optionalEnum, optionalNumber, type Params } from './params.ts';

const MAX_ACCOUNTS = 100;

export function accountOptions(
  config: Options,
  view: NodeView,
  block: Block,
  fallback: AccountEncoding,
): AccountOptions {
  const slice = nested(config, 'dataSlice');
  return {
    encoding: optionalEnum(config, 'encoding', ACCOUNT_ENCODINGS) ?? fallback,
    slice: slice && {
      offset: optionalNumber(slice, 'offset') ?? 0,
      length: optionalNumber(slice, 'length') ?? 0,
    },
    mintOf: (mint) => view.chain.account(mint, block),
  };
}

function accountAt(view: NodeView, address: string, block: Block): StoredAccount | null {
  if (address === RECENT_BLOCKHASHES) return recentBlockhashes(view.chain, block);
  return view.reportedAccount(address, view.chain.account(address, block), block);
}

function tokenAccountBalance(params: Params, view: NodeView): unknown {
  const address = params.address(0);
  const block = view.bank(params.config(1));
  const account = view.chain.account(address, block);
  if (account === null) throw invalidParams('Invalid param: could not find account');
  const token = readTokenAccount(account);
  if (!token) throw invalidParams('Invalid param: not a Token account');
  const mint = readMint(view.chain.account(token.mint, block));
  if (!mint) throw invalidParams('Invalid param: could not find mint');
  return withContext(block, uiAmount(token.amount, mint.decimals));
}

/** The token program and the mint (null for any mint) in a filter of getTokenAccountsByOwner. */
function tokenFilter(
  filter: Options,
  view: NodeView,
  block: Block,
): { program: string; mint: string | null } {
  if (typeof filter['mint'] === 'string') {
    const mint = checkAddress(filter['mint']);
    const account = view.chain.account(mint, block);
    if (account === null) throw invalidParams('Invalid param: could not find mint');
    if (!readMint(account)) throw invalidParams('Invalid param: not a Token mint');
    return { program: account.owner, mint };
  }
  const program = typeof filter['programId'] === 'string' ? checkAddress(filter['programId']) : null;
  if (program !== TOKEN_PROGRAM && program !== TOKEN_2022_PROGRAM) {
    throw invalidParams('Invalid param: unrecognized Token program id');
  }
  return { program, mint: null };
}

function tokenAccountsByOwner(params: Params, view: NodeView): unknown {
  const owner = params.address(0);
  const filter = params.requiredConfig(1);
  const config = params.config(2);
  const block = view.bank(config);
  const { program, mint } = tokenFilter(filter, view, block);
  const options = accountOptions(config, view, block, 'binary');
  const found = view.chain.programAccounts(program, block).filter(({ account }) => {
    const token = readTokenAccount(account);
    return token?.owner === owner && (mint === null || token.mint === mint);
  });
  return withContext(
    block,
    found.map(({ address, account }) => ({ account: encodeAccount(account, options), pubkey: address })),
  );
}

export const accountMethods: MethodTable = {
  getBalance: (params, view) => {
    const address = params.address(0);
    const block = view.bank(params.config(1));
    return withContext(block, view.chain.account(address, block)?.lamports ?? 0n);
  },
  getAccountInfo: (params, view) => {
    const address = params.address(0);
    const config = params.config(1);
    const block = view.bank(config);
    const options = accountOptions(config, view, block, 'binary');
    return withContext(block, encodeAccount(accountAt(view, address, block), options));
  },
  getMultipleAccounts: (params, view) => {
    const addresses = params.strings(0);
    if (addresses.length > MAX_ACCOUNTS) throw invalidParams(`Too many inputs provided; max ${MAX_ACCOUNTS}`);
    addresses.forEach(checkAddress);
    const config = params.config(1);
    const block = view.bank(config);
    const options = accountOptions(config, view, block, 'base64');
    return withContext(
      block,
      addresses.map((address) => encodeAccount(accountAt(view, address, block), options)),
    );
  },
  getTokenAccountBalance: tokenAccountBalance,
  getTokenAccountsByOwner: tokenAccountsByOwner,
  getMinimumBalanceForRentExemption: (params, view) =>
    view.chain.vm.rentMinimum(BigInt(params.integer(0, 'usize'))),
};

import { base58 } from '@scure/base';
import { ADDRESSES, type Draw, type Json, type JsonFields, write } from './block-text.ts';

const SIGNATURE_BYTES = 64;
/** Text that must be escaped, and text that looks like the end of something. */
const LOGS = ['"', 'a\\', '","meta":null,"x":"', '}]}', '"transactions":['];
const BALANCES = 4;

/**
 * An answer to getBlock of which every transaction can be read, with watched and foreign wallets in it, written in many ways. Nodes
 * escape no key; `quoting`: there is text that must be escaped.
 */
export function readableBlock(draw: Draw, { quoting = false } = {}): string {
  const transactions = Array.from({ length: draw(12) }, () => transaction(draw, quoting));
  const result: JsonFields = {
    blockhash: one(draw, ADDRESSES),
    previousBlockhash: one(draw, ADDRESSES),
    parentSlot: draw(1e9),
    blockHeight: draw(1e9),
    blockTime: one(draw, [null, draw(1e9)]),
    transactions,
  };
  return write(draw, { jsonrpc: '2.0', id: draw(9), result });
}

function transaction(draw: Draw, quoting: boolean): JsonFields {
  const count = 1 + draw(5);
  const first = draw(ADDRESSES.length);
  const keys = Array.from(
    { length: count },
    (_, index) => ADDRESSES[(first + index) % ADDRESSES.length] ?? '',
  );
  const failed = draw(5) === 0;
  const lamports = () => keys.map(() => draw(BALANCES));
  const bytes = Uint8Array.from({ length: SIGNATURE_BYTES }, () => 1 + draw(255));
  return {
    meta: {
      err: failed ? 'AccountInUse' : null,
      status: failed ? { Err: 'AccountInUse' } : { Ok: null },
      fee: 5_000,
      preBalances: lamports(),
      postBalances: lamports(),
      preTokenBalances: holdings(draw, count, failed),
      postTokenBalances: holdings(draw, count, failed),
      ...(quoting && draw(4) === 0 ? { logMessages: [one(draw, LOGS)] } : {}),
    },
    transaction: {
      signatures: [base58.encode(bytes)],
      accountKeys: keys.map((pubkey) => ({ pubkey, signer: draw(3) === 0, writable: true })),
    },
    version: one<Json>(draw, ['legacy', 0, 1]),
  };
}

/** A failed transaction may hide owners, so that it must be parsed. */
function holdings(draw: Draw, accounts: number, failed: boolean): Json[] {
  return Array.from({ length: accounts }, (_, accountIndex) => accountIndex)
    .filter(() => draw(2) === 0)
    .map((accountIndex) => ({
      accountIndex,
      mint: one(draw, ADDRESSES.slice(0, 2)),
      owner: failed && draw(3) === 0 ? null : one(draw, ADDRESSES),
      programId: ADDRESSES[2] ?? '',
      uiTokenAmount: { amount: String(draw(BALANCES)), decimals: 6 },
    }));
}

function one<T>(draw: Draw, of: readonly T[]): T {
  return of[draw(of.length)] as T;
}

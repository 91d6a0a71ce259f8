import { toBase58 } from '../encoding/bytes.ts';
import type { WireMessage } from '../encoding/wire.ts';
import { LOOKUP_TABLE_PROGRAM } from './programs.ts';
import type { LoadedAddresses } from './records.ts';
import type { AccountReader, StoredAccount } from './vm.ts';
import type { TransactionErrorJson } from './vm-errors.ts';

const TABLE_HEADER = 56;

function addressAt(table: StoredAccount, index: number): string | null {
  const start = TABLE_HEADER + index * 32;
  return start + 32 <= table.data.length ? toBase58(table.data.slice(start, start + 32)) : null;
}

/** Loads the addresses that a message takes from lookup tables. `err` is the error of the first table that cannot be read. */
export function loadAddresses(
  message: WireMessage,
  account: AccountReader,
): { loaded: LoadedAddresses; err: TransactionErrorJson | null } {
  const writable: string[] = [];
  const readonly: string[] = [];
  const loaded = { writable, readonly };
  for (const lookup of message.lookups) {
    const table = account(lookup.accountKey);
    if (table === null) return { loaded, err: 'AddressLookupTableNotFound' };
    if (table.owner !== LOOKUP_TABLE_PROGRAM) return { loaded, err: 'InvalidAddressLookupTableOwner' };
    if (table.data.length < TABLE_HEADER) return { loaded, err: 'InvalidAddressLookupTableData' };
    for (const [indexes, addresses] of [
      [lookup.writableIndexes, writable],
      [lookup.readonlyIndexes, readonly],
    ] as const) {
      for (const index of indexes) {
        const address = addressAt(table, index);
        if (address === null) return { loaded, err: 'InvalidAddressLookupTableIndex' };
        addresses.push(address);
      }
    }
  }
  return { loaded, err: null };
}

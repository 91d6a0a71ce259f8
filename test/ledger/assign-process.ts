import { openLedger } from '../../src/ledger/ledger.ts';

// One of several processes that request the addresses of the same users at once; prints the address of each.
const [url = '', count = '0'] = process.argv.slice(2);
const ledger = await openLedger(url);
const users = Array.from({ length: Number(count) }, (_, index) => `user-${index}`);
const rows = await Promise.all(users.map((user) => ledger.addresses.assign(user)));
process.stdout.write(`${rows.map(({ address }) => address).join('\n')}\n`);
await ledger.close();

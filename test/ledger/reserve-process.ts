import { openLedger } from '../../src/ledger/ledger.ts';
import { terms } from './terms.ts';

// One of several processes that open the same database and ask for the same ids; prints how many ids it created.
const [url = '', count = '0'] = process.argv.slice(2);
const ledger = await openLedger(url);
const ids = Array.from({ length: Number(count) }, (_, index) => `shared-${index}`);
const answers = await Promise.all(ids.map((id) => ledger.withdrawals.reserve(terms(id))));
process.stdout.write(`${answers.filter((answer) => answer.created).length}\n`);
await ledger.close();

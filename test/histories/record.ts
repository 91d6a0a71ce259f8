// Records the histories that `test/workflows/replay.test.ts` replays: npx tsx test/histories/record.ts
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { withdrawalWorkflowId } from '../../src/domain/ids.ts';
import type { WithdrawalStatus } from '../../src/domain/withdrawal.ts';
import { rpc } from '../../src/localstack/rpc.ts';
import { newWallet, testStack } from '../support/stack.ts';

const { stack, sluice, close } = await testStack();
const connection = await Connection.connect({ address: stack.temporal.address });
const client = new Client({ connection });

async function reaches(id: string, status: WithdrawalStatus): Promise<void> {
  while ((await sluice.get(id)).status !== status) await sleep(100);
}

async function save(id: string): Promise<void> {
  await sluice.waitForFinal(id);
  await client.workflow.getHandle(withdrawalWorkflowId(id)).result();
  const history = await client.workflow.getHandle(withdrawalWorkflowId(id)).fetchHistory();
  const bytes = proto.temporal.api.history.v1.History.encode(history).finish();
  writeFileSync(new URL(`${id}.bin`, import.meta.url), bytes);
}

const sol = (id: string, destination: string, amount = '1000000') => ({ id, asset: 'SOL', amount, destination });
try {
  await sluice.withdraw({ ...sol('finalized', newWallet()), acceptEmptyWallet: true });
  await sluice.withdraw(sol('confirmed-by-customer', newWallet()));
  await sluice.withdraw(sol('cancelled', newWallet()));
  await sluice.withdraw(sol('rejected', stack.hotWallet));
  await sluice.withdraw({ ...sol('waited-for-funds', newWallet(), '5000000000000'), acceptEmptyWallet: true });
  await reaches('confirmed-by-customer', 'awaiting_confirmation');
  await sluice.confirm('confirmed-by-customer');
  await reaches('cancelled', 'awaiting_confirmation');
  await sluice.cancel('cancelled');
  await reaches('waited-for-funds', 'awaiting_funds');
  await rpc(stack.rpcUrls[0] ?? '', 'requestAirdrop', [stack.hotWallet, 6_000_000_000_000]);
  for (const id of ['finalized', 'confirmed-by-customer', 'cancelled', 'rejected', 'waited-for-funds']) await save(id);
} finally {
  await connection.close();
  await close();
}

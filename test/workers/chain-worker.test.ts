import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { checkClusterName } from '../../src/domain/cluster.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { type CommandResult, runProgram } from '../support/cli.ts';
import { testEnvironment } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { query, waitForStatus } from '../withdrawals/outcomes-support.ts';
import { useStack } from '../withdrawals/use-stack.ts';

const use = useStack();
const ELSEWHERE = '4uhcVJyU9pJkvQyS88uRDiswHScg5X3hJzxuBxKTrPSY';

/** One more chain worker, to its end. */
function startedWorker(settings: NodeJS.ProcessEnv = {}): Promise<CommandResult> {
  const { stack } = use;
  const env = {
    ...testEnvironment(),
    TEMPORAL_ADDRESS: stack.temporal.address,
    TEMPORAL_NAMESPACE: stack.temporal.namespace,
    DATABASE_URL: stack.databaseUrl,
    SLUICE_RPC_URLS: stack.rpcUrls.join(','),
    SLUICE_HOT_WALLET: stack.hotWallet,
    SLUICE_WORKER_ROLE: 'chain',
    ...settings,
  };
  return runProgram(new URL('../../src/worker.ts', import.meta.url), [], { env });
}

async function openAlerts(): Promise<readonly string[]> {
  const text = 'select kind, subject from alert where closed_at is null order by position';
  const rows = await query<{ kind: string; subject: string }>(use.stack, text);
  return rows.map(({ kind, subject }) => `${kind} ${subject}`);
}

describe('a chain worker', () => {
  it('opens the alerts of broken node rules', async () => {
    await use.chain.disturb('*', { kind: 'http', status: 503 }, [1]);
    await until(async () => (await openAlerts()).includes('too_few_nodes sluice'), 120_000);
    await use.chain.heal();
  }, 180_000);

  it('pays no former hot wallet, no nonce account of ours, and no deposit address', async () => {
    const [former, nonce, deposit] = [newAddress(), newAddress(), newAddress()];
    await query(use.stack, `insert into wallet_history values ('${former}', 1, 1)`);
    await query(
      use.stack,
      `insert into nonce_account (address, authority, position, state) values ('${nonce}', '${former}', 1, 'unproved')`,
    );
    await query(use.stack, `insert into watched_wallet values ('${deposit}', 'deposit', 0)`);
    const codes = { [former]: 'own_address', [nonce]: 'own_address', [deposit]: 'deposit_address' };
    for (const [destination, code] of Object.entries(codes)) {
      const terms = { id: `to-${destination}`, asset: 'SOL', amount: '2000000', acceptEmptyWallet: true };
      await use.sluice.withdraw({ ...terms, destination });
      const { reason, attempts } = await waitForStatus(use.sluice, terms.id, 'rejected');
      expect([reason?.code, attempts]).toEqual([code, []]);
    }
  }, 120_000);

  it('binds the database to the cluster of its nodes', async () => {
    const pool = await openNodePool(use.stack.rpcUrls);
    await pool.close();
    const rows = await query<{ genesis_hash: string }>(use.stack, 'select genesis_hash from cluster');
    expect(rows).toEqual([{ genesis_hash: pool.genesisHash }]);
    expect(() => checkClusterName('localnet', pool.genesisHash)).not.toThrow();
  });

  it('ends with one line where the settings name another cluster than that of its nodes', async () => {
    const ended = await startedWorker({ SLUICE_CLUSTER: 'mainnet-beta' });
    expect(ended.code).toBe(1);
    expect(fatal(ended)).toEqual([expect.stringMatching(/as SLUICE_CLUSTER=mainnet-beta requires/)]);
  }, 120_000);

  it('ends with one line where the database belongs to another cluster; the API reports it, too', async () => {
    const terms = { id: 'elsewhere', asset: 'SOL', amount: '2000000', acceptEmptyWallet: true };
    await use.chain.swallowSends();
    await use.sluice.withdraw({ ...terms, destination: newAddress() });
    await waitForStatus(use.sluice, terms.id, 'sending');
    await query(use.stack, `update cluster set genesis_hash = '${ELSEWHERE}'`);
    const ended = await startedWorker();
    expect(ended.code).toBe(1);
    expect(fatal(ended)).toEqual([expect.stringContaining(`the database belongs to cluster ${ELSEWHERE}`)]);
    const { attempt } = await use.sluice.explain(terms.id);
    expect(attempt).toMatchObject({ verdict: 'unknown', reason: expect.stringContaining(ELSEWHERE) });
  }, 180_000);
});

/** The last line of a process that ends itself. */
function fatal({ stdout, stderr }: CommandResult): readonly string[] {
  const lines = `${stdout}${stderr}`.trimEnd().split('\n');
  return lines.filter((line) => line.includes('the worker stops'));
}

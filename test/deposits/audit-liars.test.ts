import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { AuditCommand } from '../../src/domain/audit.ts';
import { tokenAccountsOf } from '../../src/solana/history/token-accounts.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import type { AnyJson } from '../support/node-proxy.ts';
import { auditIn, dueAuditsIn, newSignature, openAlertsIn } from './audit-support.ts';
import { rpc, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);

const LAMPORTS = 7_000_000n;

async function paid(wallet: string): Promise<string> {
  const signature = await fixture.localnet.airdrop(wallet, LAMPORTS);
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  return signature;
}

/** A wallet that was paid before its import, and its due audit. */
async function imported(wallet: string): Promise<AuditCommand> {
  await fixture.ledger.addresses.import([{ address: wallet, path: `m/${wallet}` }], 1n);
  const order = (await dueAuditsIn(fixture)).find(({ address }) => address === wallet);
  if (order === undefined) throw new Error('an audit is due');
  return order;
}

async function slotOf(signature: string): Promise<bigint> {
  const [url = ''] = fixture.localnet.rpcUrls;
  const params = [signature, { commitment: 'confirmed', maxSupportedTransactionVersion: 1 }];
  return BigInt((await rpc(url, { method: 'getTransaction', params })).result.slot);
}

/** The transactions that the first node lists for this account besides the true ones. */
function alsoLists(account: string, entries: readonly (readonly [signature: string, slot: bigint])[]): void {
  const lines = entries.map(([signature, slot]) => {
    return { signature, slot: Number(slot), err: null, memo: null, blockTime: 1 };
  });
  nodes.liar.edit = (method, params, answer) => {
    if (method === 'getSignaturesForAddress' && params[0] === account && params[1]?.before === undefined)
      answer.result = [...answer.result, ...lines].toSorted((a: AnyJson, b: AnyJson) => b.slot - a.slot);
    return answer;
  };
}

function askedFor(method: string): number {
  return nodes.liar.asked.filter((one) => one === method).length;
}

describe('a node that lists a transaction under a false slot', () => {
  it('does not delay an audit with a transaction of after the audit', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = newAddress();
    const order = await imported(wallet);
    const later = await fixture.localnet.airdrop(newAddress(), LAMPORTS);
    alsoLists(wallet, [[later, 2n]]);
    expect(await auditIn(fixture, order, nodes.pool)).toMatchObject({ unread: 0, transactions: 0 });
    expect((await fixture.ledger.addresses.byAddress(wallet))?.state).toBe('free');
  });

  it('causes no alert about a deposit that the scan recorded before the audit', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const signature = await paid(wallet);
    await fixture.confirm();
    const slot = await slotOf(signature);
    fixture.finalize(6);
    await fixture.scanAll(fixture.scanner());
    alsoLists(wallet, [[signature, slot + 2n]]);
    const [from, to] = [`${slot + 1n}`, `${slot + 4n}`];
    const order: AuditCommand = { address: wallet, from, to, repair: true, cause: 'operator' };
    expect(await auditIn(fixture, order, nodes.pool)).toMatchObject({ found: 0, remaining: 0, unread: 0 });
    expect(await openAlertsIn(fixture, 'deposit_missed')).not.toContain(signature);
  });

  it('does not hide the transaction from the audit', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = newAddress();
    const signature = await paid(wallet);
    const order = await imported(wallet);
    const slot = await slotOf(signature);
    alsoLists(wallet, [[signature, slot - 1n]]);
    expect(await auditIn(fixture, order, nodes.pool)).toMatchObject({ found: 1, unread: 0, transactions: 1 });
  });
});

describe('a node that lists invented transactions', () => {
  const never = Array.from({ length: 300 }, () => [newSignature(), 2n] as const);

  it('makes the audit request only a limited number of them', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = newAddress();
    const order = await imported(wallet);
    alsoLists(wallet, never);
    nodes.liar.asked = [];
    expect(await auditIn(fixture, order, nodes.pool)).toMatchObject({ unread: 0 });
    expect(askedFor('getTransaction')).toBeLessThan(100);
    expect((await fixture.ledger.addresses.byAddress(wallet))?.state).toBe('free');
  });

  it('does not hide the transactions that it lists after them', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = newAddress();
    await paid(wallet);
    const order = await imported(wallet);
    const { to } = order;
    alsoLists(
      wallet,
      never.map(([signature]) => [signature, BigInt(to)]),
    );
    expect(await auditIn(fixture, order, nodes.pool)).toMatchObject({ found: 1, remaining: 0, unread: 0 });
  });
});

describe('an audit', () => {
  /** The accounts that the node names, for the Token program alone or for both programs. */
  function names(accounts: (honest: AnyJson[]) => AnyJson[]): void {
    nodes.liar.edit = (method, _params, answer) => {
      if (method === 'getTokenAccountsByOwner') answer.result.value = accounts(answer.result.value);
      return answer;
    };
  }

  async function holder(): Promise<{ readonly wallet: string; readonly accounts: readonly string[] }> {
    const wallet = newAddress();
    await fixture.localnet.mintTo(fixture.localnet.mint.address, wallet, 7n);
    fixture.finalize();
    return { wallet, accounts: await tokenAccountsOf(fixture.pool, wallet, 0n) };
  }

  it('reads no token account that only one node names', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = newAddress();
    const order = await imported(wallet);
    names(() => Array.from({ length: 250 }, () => ({ pubkey: newAddress() })));
    nodes.liar.asked = [];
    expect(await auditIn(fixture, order, nodes.pool)).toMatchObject({ unread: 0 });
    expect(askedFor('getSignaturesForAddress')).toBeLessThan(10);
  });

  it('reads a token account that one node leaves out', async () => {
    const { wallet, accounts } = await holder();
    expect(accounts).toHaveLength(1);
    names(() => []);
    expect(await tokenAccountsOf(nodes.pool, wallet, 0n)).toEqual(accounts);
  });

  it('waits for a token account that no quorum names or denies', async () => {
    const { wallet } = await holder();
    const [, second = ''] = fixture.localnet.rpcUrls;
    const [liar = ''] = nodes.pool.nodes.map(({ url }) => url);
    const pair = await openNodePool([liar, second]);
    names(() => []);
    await expect(tokenAccountsOf(pair, wallet, 0n)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    await pair.close();
  });

  it('reads the token accounts that nodes name at the last slot of the audit', async () => {
    const { wallet, accounts } = await holder();
    const slot = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
    expect(await tokenAccountsOf(fixture.pool, wallet, slot)).toEqual(accounts);
    await expect(tokenAccountsOf(fixture.pool, wallet, slot + 1_000n)).rejects.toMatchObject({
      code: 'NoHealthyNode',
    });
  });
});

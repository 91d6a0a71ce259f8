import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { DepositAnnouncer } from '../../src/deposits/credits/announce.ts';
import { haltAfter, ScanAlarms } from '../../src/deposits/scan/failure-alerts.ts';
import { RpcError } from '../../src/solana/rpc/errors.ts';
import { isWholeBlock, makeFirstNodeFastest, probeUntilRanked, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';
import { scanUntil } from './scan-steps.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);

describe('one lying node of three, asked first, that sends text PostgreSQL cannot store', () => {
  it.each([
    ['a NUL', '\0'],
    ['half a surrogate pair', '\ud800'],
  ])(
    'does not stop the scan: %s as the error of a transaction that our hot wallet signed',
    async (_name, err) => {
      await fixture.scanAll(fixture.scanner());
      const hot = newAddress();
      await fixture.ledger.watched.addHot([hot]);
      const wallet = await fixture.newDepositAddress();
      await fixture.localnet.airdrop(newAddress(), 2_000_000n);
      fixture.finalize();
      await fixture.localnet.airdrop(wallet, 3_000_000n);
      fixture.finalize();
      await makeFirstNodeFastest(fixture, nodes.pool);
      nodes.liar.edit = (method, params, answer) => {
        if (!isWholeBlock(method, params)) return answer;
        for (const { transaction, meta } of answer.result?.transactions ?? []) {
          if (transaction.accountKeys.some(({ pubkey }: { pubkey: string }) => pubkey === wallet)) continue;
          transaction.accountKeys[0].pubkey = hot;
          meta.err = err;
          meta.status = { Err: err };
        }
        return answer;
      };
      const status = await scanUntil(
        fixture.deps(nodes.pool),
        async ({ state }) => state === 'tail' && (await fixture.depositsOf(wallet)).length > 0,
      );
      fixture.localnet.controls.clearFaults();
      expect(status).toMatchObject({ state: 'tail' });
      expect(await fixture.depositsOf(wallet)).toHaveLength(1);
    },
  );

  it('does not stop an announcement: a NUL as the hash of a block that is not finalized', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const { controls } = fixture.localnet;
    const stuck = controls.chain.at('finalized').slot;
    for (const node of [0, 1, 2]) controls.setFault(node, '*', { kind: 'stuck-finality', slot: stuck });
    await fixture.localnet.airdrop(wallet, 7_000_000n);
    await probeUntilRanked(nodes.pool);
    nodes.liar.edit = (method, params, answer) => {
      if (isWholeBlock(method, params) && answer.result) answer.result.blockhash = '\0';
      return answer;
    };
    const announcer = new DepositAnnouncer(fixture.deps(nodes.pool));
    for (let looks = 0; looks < 3; looks += 1) await announcer.announce();
    expect(await fixture.depositsOf(wallet)).toHaveLength(1);
  });

  it('does not stop a report: a NUL in its error message', async () => {
    const refusal = new RpcError({ code: -32_603, message: 'out of\0order' }, 'node', 'getBlock');
    const status = await fixture.ledger.scanStatus.report({ ...haltAfter(refusal), tip: null }, 120_000);
    await new ScanAlarms(fixture.ledger).update(status);
    const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
    expect(rows.map(({ kind }) => kind)).toContain('scan_stopped');
  });
});

import { base58 } from '@scure/base';
import { beforeAll, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createSettlementActivities } from '../../src/activities/settlements.ts';
import { createSignerActivities } from '../../src/activities/signing.ts';
import { LANDING_TASK_QUEUE, SIGNER_TASK_QUEUE } from '../../src/domain/ids.ts';
import { startSettlement } from '../../src/platform/temporal/starts.ts';
import type { Kind } from '../../src/settlement/kind.ts';
import { createLanding } from '../../src/settlement/land.ts';
import { giveSignature } from '../../src/workflows/messages.ts';
import { useLedger } from '../ledger/support.ts';
import { useLandingFixture } from '../solana/landing-fixture.ts';
import { freshNamespace } from '../support/namespace.ts';
import { signerOf } from '../support/signer.ts';
import { temporalClient } from '../support/temporal.ts';
import { startWorkers } from '../workflows/workers.ts';
import {
  EACH,
  fundedKeys,
  GATHERING,
  GATHERING_RULE,
  gathering,
  type Keys,
  requestGathering,
} from './several-signers-kind.ts';

const PAYER = 'fee-payer/1';
const GIVER = 'deposit/1';
const use = useLedger();
const fixture = useLandingFixture();
let keys: Keys;
let place: Awaited<ReturnType<typeof freshNamespace>>;

beforeAll(async () => {
  place = await freshNamespace('outside');
  keys = await fundedKeys(fixture, [PAYER, GIVER]);
});

/** A worker that has every key but this one; the answer stops it. */
function withoutKey(outside: string): Promise<() => Promise<void>> {
  const whole = gathering(fixture, keys);
  const kind: Kind = {
    ...whole,
    tasks: async (settlement, attempt) =>
      ((await whole.tasks?.(settlement, attempt)) ?? []).filter(({ key }) => key !== outside),
  };
  const kinds = { [GATHERING]: kind };
  const { ledger } = use;
  const { watcher, chain } = fixture;
  const own = Object.fromEntries(Object.entries(keys).filter(([name]) => name !== outside));
  const bounds = { priceCapMicroLamports: 100_000n, maxFeeLamports: 500_000n, allowHookAccounts: false };
  const steps = {
    ...createSettlementActivities({ ledger, kinds }),
    ...createSignerActivities({ keys: own, bounds, rules: GATHERING_RULE }),
    ...createLanding({ ledger, watcher, chain, kinds }),
  };
  return startWorkers(place, steps, [{ taskQueue: LANDING_TASK_QUEUE }, { taskQueue: SIGNER_TASK_QUEUE }]);
}

it.each([PAYER, GIVER])(
  'a settlement whose %s is offline waits for the signature, and is paid once',
  async (outside) => {
    const stop = await withoutKey(outside);
    try {
      const payee = newAddress();
      const id = await requestGathering(use.ledger, payee);
      const handle = await startSettlement(temporalClient(place), { kind: GATHERING, subjectId: payee });
      const missing = async () => {
        const [row] = await use.ledger.attempts.of(id);
        return row?.signers.filter((_, at) => row.signatures[at] === null);
      };
      const machine = keys[outside];
      await expect.poll(missing, { timeout: 30_000 }).toEqual([machine?.address]);
      const [row] = await use.ledger.attempts.of(id);
      const message = Buffer.from(row?.message ?? '', 'base64');
      const foreign = await (await signerOf()).sign(message);
      const give = (signature: Uint8Array) =>
        handle.executeUpdate(giveSignature, { args: [{ n: 1, signature: base58.encode(signature) }] });
      await expect(give(foreign)).rejects.toMatchObject({ cause: { type: 'SigningRefused' } });
      await give((await machine?.sign(message)) ?? new Uint8Array(64));
      expect(await fixture.withBlocks(handle.result(), 100)).toMatchObject({ status: 'finalized' });
      expect(await fixture.lamportsOf(payee)).toBe(EACH);
      expect(await use.ledger.attempts.of(id)).toHaveLength(1);
    } finally {
      await stop();
    }
  },
  90_000,
);

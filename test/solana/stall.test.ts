import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ears, LandingRoom, until, wallet } from './landing-room.ts';

let room: LandingRoom;

beforeAll(async () => {
  room = await LandingRoom.open();
});
afterEach(() => room.localnet.controls.clearFaults());
afterAll(() => room?.close());

describe('an attempt whose life is not over', () => {
  it.each([
    [
      'all nodes are silent',
      { kind: 'http', status: 503 },
      'too few nodes report a finalized height: none from',
    ],
    ['finality stands still', { kind: 'result', result: 7 }, 'finality stands still at block height'],
  ] as const)('is held while %s, and no longer once blocks become final again', async (_name, fault, why) => {
    const sent = await room.attempt(wallet(), 5_000_000n);
    room.swallow();
    for (const node of [0, 1]) room.localnet.controls.setFault(node, 'getBlockHeight', fault);
    const { heard, hooks } = ears();
    const end = room.restless().watch(sent, hooks);
    await until(() => heard.length > 0);
    expect(heard[0]).toContain(`held: ${why}`);
    room.localnet.controls.clearFaults();
    expect((await room.withBlocks(end)).verdict.kind).toBe('landed');
    expect(heard[1]).toMatch(/^(sending|confirmed)$/);
  });
});

import { spawn } from 'node:child_process';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { nodeProgram } from '../../devkit/localstack/program.ts';
import { COMPILED } from '../support/compiled.ts';
import { crashLine } from '../support/crash-log-lines.ts';
import { useDeliveryFixture } from './delivery-fixture.ts';
import { answering } from './receiver.ts';

const room = useDeliveryFixture();

describe('a webhook event is not lost', () => {
  it.each(['before start', 'before mark'])('with a worker that is killed %s', async (at) => {
    const entity = `deposit/killed ${at}`;
    // A started run must not deliver before the round has found the event unmarked.
    let answer: () => void = () => undefined;
    const round = new Promise<void>((resolve) => (answer = resolve));
    room.receiver.behave(async (response) => {
      await round;
      response.writeHead(204).end();
    });
    await room.queueEvents(entity, 'pending', 'final');
    expect(await killedOutbox(at)).toContain(crashLine(at));
    expect(await room.handOver()).toBe(1);
    answer();
    await room.runOf(entity).result();
    expect(room.receiver.types()).toEqual(['deposit.pending', 'deposit.final']);
    expect(await room.handOver()).toBe(0);
  });

  it('with its terminated run', async () => {
    const asked = new Promise<void>((resolve) => room.receiver.behave(() => resolve()));
    await room.queueEvents('deposit/lost', 'final');
    await room.handOver();
    await asked;
    await room.runOf('deposit/lost').terminate('as if Temporal had lost it');
    room.receiver.behave(answering(204));
    expect(await room.handOver()).toBe(0);
    await sql`update webhook_delivery set handed_at = handed_at - interval '3 hours'`.execute(
      room.service.ledger.db,
    );
    await room.deliver('deposit/lost');
    expect(await room.statesOf('deposit/lost')).toEqual(['delivered']);
  });
});

describe('a fault of our own that is not counted against the receiver', () => {
  it('is a silent database between two attempts: neither is counted, and the run continues', async () => {
    let silent = 4;
    room.beforeAttempt = () => {
      if (silent === 0) return;
      silent -= 1;
      throw new Error('Connection terminated unexpectedly');
    };
    await room.queueEvents('deposit/silent', 'final');
    await room.deliver('deposit/silent');
    room.beforeAttempt = () => undefined;
    expect(silent).toBe(0);
    expect(await room.statesOf('deposit/silent')).toEqual(['delivered']);
  });
});

/** The output of the process that hands the outbox over and kills itself. */
async function killedOutbox(at: string): Promise<string> {
  const program = nodeProgram(new URL('../support/crashing-outbox.ts', import.meta.url), [], COMPILED);
  const child = spawn(program.command, program.args, {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: room.service.databaseUrl,
      TEMPORAL_ADDRESS: room.service.address,
      TEMPORAL_NAMESPACE: room.service.namespace,
      CRASH_AT: at,
    },
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const signal = await new Promise((resolve) => child.on('close', (_code, name) => resolve(name)));
  return signal === 'SIGKILL' ? said : `ended by itself: ${said}`;
}

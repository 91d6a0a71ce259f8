import { spawn } from 'node:child_process';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { nodeProgram } from '../../devkit/localstack/program.ts';
import { COMPILED } from '../support/compiled.ts';
import { crashLine } from '../support/crash-log-lines.ts';
import { useDeliveryFixture } from './delivery-fixture.ts';
import { answering } from './receiver.ts';

const fixture = useDeliveryFixture();

describe('a webhook event is not lost', () => {
  it.each(['before start', 'before mark'])('with a worker that is killed %s', async (at) => {
    const entity = `deposit/killed ${at}`;
    // A started run must not deliver before the round has found the event unmarked.
    let answer: () => void = () => undefined;
    const round = new Promise<void>((resolve) => (answer = resolve));
    fixture.receiver.behave(async (response) => {
      await round;
      response.writeHead(204).end();
    });
    await fixture.queueEvents(entity, 'pending', 'final');
    expect(await killedOutbox(at)).toContain(crashLine(at));
    expect(await fixture.handOver()).toBe(1);
    answer();
    await fixture.runOf(entity).result();
    expect(fixture.receiver.types()).toEqual(['deposit.pending', 'deposit.final']);
    expect(await fixture.handOver()).toBe(0);
  });

  it('with its terminated run', async () => {
    const asked = new Promise<void>((resolve) => fixture.receiver.behave(() => resolve()));
    await fixture.queueEvents('deposit/lost', 'final');
    await fixture.handOver();
    await asked;
    await fixture.runOf('deposit/lost').terminate('as if Temporal had lost it');
    fixture.receiver.behave(answering(204));
    expect(await fixture.handOver()).toBe(0);
    await sql`update webhook_delivery set handed_at = handed_at - interval '3 hours'`.execute(
      fixture.service.ledger.db,
    );
    await fixture.deliver('deposit/lost');
    expect(await fixture.statesOf('deposit/lost')).toEqual(['delivered']);
  });
});

describe('a fault of our own that is not counted against the receiver', () => {
  it('is a silent database between two attempts: neither is counted, and the run continues', async () => {
    let silent = 4;
    fixture.beforeAttempt = () => {
      if (silent === 0) return;
      silent -= 1;
      throw new Error('Connection terminated unexpectedly');
    };
    await fixture.queueEvents('deposit/silent', 'final');
    await fixture.deliver('deposit/silent');
    fixture.beforeAttempt = () => undefined;
    expect(silent).toBe(0);
    expect(await fixture.statesOf('deposit/silent')).toEqual(['delivered']);
  });
});

/** The output of the process that hands the outbox over and kills itself. */
async function killedOutbox(at: string): Promise<string> {
  const program = nodeProgram(new URL('../support/crashing-outbox.ts', import.meta.url), [], COMPILED);
  const child = spawn(program.command, program.args, {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: fixture.service.databaseUrl,
      TEMPORAL_ADDRESS: fixture.service.address,
      TEMPORAL_NAMESPACE: fixture.service.namespace,
      CRASH_AT: at,
    },
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const signal = await new Promise((resolve) => child.on('close', (_code, name) => resolve(name)));
  return signal === 'SIGKILL' ? said : `ended by itself: ${said}`;
}

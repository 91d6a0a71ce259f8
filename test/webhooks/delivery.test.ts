import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failureInterceptor } from '../../src/activities/failures.ts';
import {
  createDeliverySteps,
  createWebhookActivities,
  type DeliverySteps,
  type WebhookActivities,
} from '../../src/activities/webhooks.ts';
import { verifyWebhook } from '../../src/client/client.ts';
import { WEBHOOK_TASK_QUEUE, WORKFLOW_TASK_QUEUE, webhookWorkflowId } from '../../src/domain/ids.ts';
import type { WebhookEventType } from '../../src/domain/webhook.ts';
import { writeEvent } from '../../src/ledger/outbox.ts';
import { nodeProgram } from '../../src/localstack/program.ts';
import { startWebhookDelivery } from '../../src/platform/start-webhook-delivery.ts';
import { WebhookSender } from '../../src/webhooks/sender.ts';
import { handOver } from '../../src/workers/outbox.ts';
import { EXPLORER, openService, type Service } from '../http/service.ts';
import { lastWords } from '../support/last-words.ts';
import { answering, type Receiver, startReceiver } from './receiver.ts';

const PATIENCE = { firstRetryMs: 20, longestRetryMs: 50, attempts: 3 };

let service: Service;
let connection: NativeConnection;
let worker: Worker;
let teller: Worker;
let running: Promise<unknown>;
let sender: WebhookSender;
let receiver: Receiver;
let endpoint: string;
let secret: string;

beforeAll(async () => {
  service = await openService();
  connection = await NativeConnection.connect({ address: service.address });
  sender = new WebhookSender({ allowPrivate: true });
  worker = await Worker.create({
    connection,
    namespace: service.namespace,
    taskQueue: WORKFLOW_TASK_QUEUE,
    workflowsPath: fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)),
    activities: stepsWithPause(),
    interceptors: { activity: [() => ({ inbound: failureInterceptor })] },
  });
  teller = await Worker.create({
    connection,
    namespace: service.namespace,
    taskQueue: WEBHOOK_TASK_QUEUE,
    activities: tryingWithFailures(),
    interceptors: { activity: [() => ({ inbound: failureInterceptor })] },
  });
  running = Promise.all([worker.run(), teller.run()]);
});
afterAll(async () => {
  worker?.shutdown();
  teller?.shutdown();
  await running;
  await sender?.close();
  await connection?.close();
  await service?.close();
});

beforeEach(async () => {
  receiver = await startReceiver();
  const made = await service.ledger.webhooks.put(`http://127.0.0.1:${receiver.port}/`, ['deposit.*']);
  if (made.secret === null) throw new Error('the endpoint was there already');
  endpoint = made.row.id;
  secret = made.secret;
});
afterEach(async () => {
  await service.ledger.webhooks.remove(endpoint);
  await receiver.close();
});

/** What happens once, right after the run has seen that nothing waits any more, and before it has ended. */
let atTheEnd: (() => Promise<unknown>) | null = null;

function stepsWithPause(): DeliverySteps {
  const steps = createDeliverySteps(service.ledger);
  return {
    ...steps,
    async nextDelivery(line) {
      const key = await steps.nextDelivery(line);
      const happening = key === null ? atTheEnd : null;
      if (happening !== null) atTheEnd = null;
      await happening?.();
      return key;
    },
  };
}

/** What fails before a try has read anything. */
let failsBefore: () => void = () => undefined;

function tryingWithFailures(): WebhookActivities {
  const activities = createWebhookActivities({
    ledger: service.ledger,
    sender,
    explorer: EXPLORER,
    triesAtOnce: 100,
  });
  return {
    async deliver(...given) {
      failsBefore();
      return activities.deliver(...given);
    },
  };
}

async function happens(
  entity: string,
  ...kinds: readonly ('pending' | 'final' | 'dropped')[]
): Promise<void> {
  for (const kind of kinds)
    await service.ledger.db
      .transaction()
      .execute((trx) => writeEvent(trx, { type: `deposit.${kind}`, entity, data: { entity } }));
}

/** One round of the outbox; answers how many lines it had. */
function round(): Promise<number> {
  return handOver(service.ledger.deliveries, (line) =>
    startWebhookDelivery(service.temporal, line, PATIENCE),
  );
}

function runOf(entity: string) {
  return service.temporal.workflow.getHandle(webhookWorkflowId({ endpoint, entity }));
}

/** Hands over what waits, and resolves when the runs have told it. */
async function tell(...entities: readonly string[]): Promise<void> {
  await round();
  await Promise.all(entities.map((entity) => runOf(entity).result()));
}

/** Resolves once a workflow task began after the run was signalled, so that it knows. */
async function signalIsInHistory(entity: string): Promise<void> {
  for (;;) {
    const { events } = await runOf(entity).fetchHistory();
    const kinds = (events ?? []).map((event) =>
      event.workflowTaskCompletedEventAttributes
        ? 'task'
        : event.workflowExecutionSignaledEventAttributes
          ? 'signal'
          : '',
    );
    if (kinds.lastIndexOf('task') > kinds.indexOf('signal') && kinds.includes('signal')) return;
    await sleep(100);
  }
}

async function statesOf(entity: string): Promise<readonly string[]> {
  const { rows } = await service.ledger.deliveries.list({ endpoint, limit: 99 });
  return rows
    .filter((row) => row.entity === entity)
    .map(({ state }) => state)
    .toReversed();
}

const told = (...kinds: readonly string[]): readonly WebhookEventType[] =>
  kinds.map((kind) => `deposit.${kind}` as WebhookEventType);

describe('an event is delivered', () => {
  it('signed as Standard Webhooks are, by every secret that is valid, with one id at each try', async () => {
    const { secret: second } = await service.ledger.webhooks.rotate(endpoint, 24);
    receiver.behave((response, _received, n) => response.writeHead(n === 1 ? 503 : 200).end());
    await happens('deposit/signed', 'final');
    await tell('deposit/signed');
    expect(receiver.received).toHaveLength(2);
    const [first, last] = receiver.received;
    expect(first?.headers['webhook-id']).toBe(last?.headers['webhook-id']);
    for (const key of [secret, second])
      for (const { headers, body } of receiver.received) {
        const payload = new Webhook(String(key)).verify(body, headers as Record<string, string>);
        expect(payload).toMatchObject({ type: 'deposit.final', data: { entity: 'deposit/signed' } });
        const event = await verifyWebhook({ headers, body }, String(key));
        expect(event).toEqual({ ...(payload as object), id: headers['webhook-id'] });
      }
    expect(await statesOf('deposit/signed')).toEqual(['delivered']);
  });

  it('after the earlier ones of its thing, however often they fail, and not after those of another', async () => {
    receiver.behave((response, { body }) => {
      const fails = body.includes('deposit/slow') && receiver.received.length < 4;
      response.writeHead(fails ? 500 : 204).end();
    });
    await happens('deposit/slow', 'pending', 'final');
    await happens('deposit/quick', 'final');
    await tell('deposit/slow', 'deposit/quick');
    const types = receiver.received
      .filter(({ body }) => body.includes('deposit/slow'))
      .map(({ body }) => (JSON.parse(body) as { type: string }).type);
    expect(new Set(types.slice(0, -1))).toEqual(new Set(told('pending')));
    expect(types.length).toBeGreaterThan(2);
    expect(types.at(-1)).toBe('deposit.final');
    expect(await statesOf('deposit/slow')).toEqual(['delivered', 'delivered']);
  });

  it('by the run that is there, also where it came while that run waited for the receiver', async () => {
    let release: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => {
      receiver.behave((response, _received, n) => {
        if (n > 1) return response.writeHead(204).end();
        release = () => response.writeHead(204).end();
        return resolve();
      });
    });
    await happens('deposit/late', 'pending');
    await round();
    await arrived;
    await happens('deposit/late', 'final');
    await round();
    const { runId } = await runOf('deposit/late').describe();
    release();
    await runOf('deposit/late').result();
    expect((await runOf('deposit/late').describe()).runId).toBe(runId);
    expect(receiver.types()).toEqual(told('pending', 'final'));
  });

  it('by the run that was told of it after it had seen the last one', async () => {
    const line = { endpoint, entity: 'deposit/end' };
    atTheEnd = async () => {
      await happens(line.entity, 'final');
      await round();
      await signalIsInHistory(line.entity);
    };
    await happens(line.entity, 'pending');
    // While its first look goes on, a run with so short a task begins another one, which brings it the signal.
    await service.temporal.workflow.start('webhookDelivery', {
      workflowId: webhookWorkflowId(line),
      taskQueue: WORKFLOW_TASK_QUEUE,
      args: [{ ...line, patience: PATIENCE }],
      workflowTaskTimeout: '1 second',
    });
    await runOf(line.entity).result();
    expect(receiver.types()).toEqual(told('pending', 'final'));
  });

  it('once, however often it is handed over', async () => {
    await happens('deposit/once', 'final');
    const [line] = await service.ledger.deliveries.unhanded();
    if (line === undefined) throw new Error('nothing waits');
    for (let again = 0; again < 3; again += 1) await startWebhookDelivery(service.temporal, line, PATIENCE);
    await tell('deposit/once');
    expect(receiver.types()).toEqual(told('final'));
    expect(await round()).toBe(0);
  });
});

describe('an event that no try delivers', () => {
  it('is a dead letter, lets the next one pass, and is delivered when it is replayed', async () => {
    receiver.behave((response, { body }) =>
      response.writeHead(body.includes('deposit.pending') ? 500 : 204).end(),
    );
    await happens('deposit/dead', 'pending', 'final');
    await tell('deposit/dead');
    expect(receiver.types()).toEqual(told('pending', 'pending', 'pending', 'final'));
    expect(await statesOf('deposit/dead')).toEqual(['dead', 'delivered']);
    const { rows } = await service.ledger.alerts.list({ open: true, limit: 9 });
    expect(rows).toMatchObject([
      { kind: 'webhook_dead_letter', subject: endpoint, message: expect.stringContaining('answered 500') },
    ]);
    receiver.behave(answering(204));
    expect(await service.ledger.deliveries.replay(endpoint)).toBe(1);
    await tell('deposit/dead');
    expect(await statesOf('deposit/dead')).toEqual(['delivered', 'delivered']);
    expect(receiver.types().at(-1)).toBe('deposit.pending');
  });

  it('because the receiver is gone, is not tried again, nor is any other', async () => {
    receiver.behave(answering(410));
    await happens('deposit/gone', 'pending', 'final');
    await tell('deposit/gone');
    expect(receiver.types()).toEqual(told('pending'));
    expect(await statesOf('deposit/gone')).toEqual(['dead', 'dead']);
    expect(await service.ledger.webhooks.get(endpoint)).toMatchObject({
      disabledBecause: 'the receiver answered 410 Gone',
    });
  });

  it('because its address is private, reaches nobody', async () => {
    const strict = createWebhookActivities({
      ledger: service.ledger,
      sender: new WebhookSender(),
      explorer: EXPLORER,
      triesAtOnce: 100,
    });
    const steps = createDeliverySteps(service.ledger);
    await happens('deposit/private', 'final');
    const key = await steps.nextDelivery({ endpoint, entity: 'deposit/private' });
    if (key === null) throw new Error('nothing waits');
    await expect(strict.deliver(key, PATIENCE)).rejects.toThrow('the URL must be an https URL');
    expect(receiver.received).toEqual([]);
    expect(await statesOf('deposit/private')).toEqual(['waiting']);
    await service.ledger.deliveries.giveUp(key);
  });
});

describe("a fault of our own is not the receiver's", () => {
  it('where our database is silent between two tries: neither is counted, and the run goes on', async () => {
    let silent = 4;
    failsBefore = () => {
      if (silent === 0) return;
      silent -= 1;
      throw new Error('Connection terminated unexpectedly');
    };
    await happens('deposit/silent', 'final');
    await tell('deposit/silent');
    failsBefore = () => undefined;
    expect(silent).toBe(0);
    expect(await statesOf('deposit/silent')).toEqual(['delivered']);
  });
});

describe('no event is lost', () => {
  it.each(['before start', 'before mark'])('by a worker that is killed %s', async (at) => {
    const entity = `deposit/killed ${at}`;
    await happens(entity, 'pending', 'final');
    expect(await killedOutbox(at)).toContain(lastWords(at));
    expect(await round()).toBe(1);
    await runOf(entity).result();
    expect(receiver.types()).toEqual(told('pending', 'final'));
    expect(await round()).toBe(0);
  });

  it('with its run', async () => {
    receiver.behave(() => undefined);
    await happens('deposit/lost', 'final');
    await round();
    await runOf('deposit/lost').terminate('as if Temporal had lost it');
    receiver.behave(answering(204));
    expect(await round()).toBe(0);
    await sql`update webhook_delivery set handed_at = handed_at - interval '3 hours'`.execute(
      service.ledger.db,
    );
    await tell('deposit/lost');
    expect(await statesOf('deposit/lost')).toEqual(['delivered']);
  });
});

/** What the process says that hands the outbox over and dies there. */
async function killedOutbox(at: string): Promise<string> {
  const program = nodeProgram(new URL('../support/crashing-outbox.ts', import.meta.url), []);
  const child = spawn(program.command, program.args, {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: service.databaseUrl,
      TEMPORAL_ADDRESS: service.address,
      TEMPORAL_NAMESPACE: service.namespace,
      CRASH_AT: at,
    },
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const signal = await new Promise((resolve) => child.on('close', (_code, name) => resolve(name)));
  return signal === 'SIGKILL' ? said : `ended by itself: ${said}`;
}

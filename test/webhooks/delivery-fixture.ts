import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { failureInterceptor } from '../../src/activities/failures.ts';
import {
  createDeliverySteps,
  createWebhookActivities,
  type DeliverySteps,
  type WebhookActivities,
} from '../../src/activities/webhooks.ts';
import { WEBHOOK_TASK_QUEUE, WORKFLOW_TASK_QUEUE, webhookWorkflowId } from '../../src/domain/ids.ts';
import { writeEvent } from '../../src/ledger/webhooks/outbox.ts';
import { handOver } from '../../src/platform/roles/webhooks.ts';
import { startWebhookDelivery } from '../../src/platform/temporal/starts.ts';
import { WebhookSender } from '../../src/webhooks/sender.ts';
import { EXPLORER, openService, type Service } from '../http/service.ts';
import { testWorkflows } from '../support/workflows.ts';
import { type Receiver, startReceiver } from './receiver.ts';

export const PATIENCE = { firstRetryMs: 20, longestRetryMs: 50, attempts: 3 };

interface Workers {
  readonly service: Service;
  close(): Promise<void>;
}

interface Endpoint {
  readonly id: string;
  readonly secret: string;
  readonly receiver: Receiver;
}

/** The API and both webhook workers, and for each test an endpoint of its own. */
export class DeliveryFixture {
  /** Runs once, right after the run has found no waiting event, and before the run ends. */
  beforeRunEnds: (() => Promise<unknown>) | null = null;
  /** The failure of a delivery attempt before it reads anything. */
  beforeAttempt: () => void = () => undefined;
  #workers: Workers | undefined;
  #endpoint: Endpoint | undefined;

  get service(): Service {
    if (this.#workers === undefined) throw new Error('the service starts before the first test');
    return this.#workers.service;
  }

  get endpoint(): string {
    return this.#current().id;
  }

  get secret(): string {
    return this.#current().secret;
  }

  get receiver(): Receiver {
    return this.#current().receiver;
  }

  async start(): Promise<void> {
    const service = await openService();
    const { address, namespace } = service;
    const connection = await NativeConnection.connect({ address });
    const sender = new WebhookSender({ allowPrivate: true });
    const interceptors = { activity: [() => ({ inbound: failureInterceptor })] };
    const shared = { connection, namespace, interceptors };
    const worker = await Worker.create({
      ...shared,
      taskQueue: WORKFLOW_TASK_QUEUE,
      workflowBundle: await testWorkflows(),
      activities: this.#steps(service),
    });
    const activities = this.#tries(service, sender);
    const webhookWorker = await Worker.create({ ...shared, taskQueue: WEBHOOK_TASK_QUEUE, activities });
    const running = Promise.all([worker.run(), webhookWorker.run()]);
    const close = async (): Promise<void> => {
      worker.shutdown();
      webhookWorker.shutdown();
      await running;
      await sender.close();
      await connection.close();
      await service.close();
    };
    this.#workers = { service, close };
  }

  async close(): Promise<void> {
    await this.#workers?.close();
  }

  async addEndpoint(): Promise<void> {
    const receiver = await startReceiver();
    const url = `http://127.0.0.1:${receiver.port}/`;
    const { row, secret } = await this.service.ledger.webhooks.put(url, ['deposit.*']);
    if (secret === null) throw new Error('the endpoint was there already');
    this.#endpoint = { id: row.id, secret, receiver };
  }

  async removeEndpoint(): Promise<void> {
    await this.service.ledger.webhooks.remove(this.endpoint);
    await this.receiver.close();
  }

  async queueEvents(entity: string, ...kinds: readonly ('pending' | 'final' | 'dropped')[]): Promise<void> {
    for (const kind of kinds)
      await this.service.ledger.db
        .transaction()
        .execute((trx) => writeEvent(trx, { type: `deposit.${kind}`, entity, data: { entity } }));
  }

  /** One round of the outbox; returns its number of rows. */
  handOver(): Promise<number> {
    const { ledger, temporal } = this.service;
    return handOver(ledger.deliveries, (line) => startWebhookDelivery(temporal, line, PATIENCE));
  }

  runOf(entity: string) {
    const id = webhookWorkflowId({ endpoint: this.endpoint, entity });
    return this.service.temporal.workflow.getHandle(id);
  }

  /** Hands waiting events over, and resolves when the runs have delivered them. */
  async deliver(...entities: readonly string[]): Promise<void> {
    await this.handOver();
    await Promise.all(entities.map((entity) => this.runOf(entity).result()));
  }

  async statesOf(entity: string): Promise<readonly string[]> {
    const { rows } = await this.service.ledger.deliveries.list({ endpoint: this.endpoint, limit: 99 });
    return rows
      .filter((row) => row.entity === entity)
      .map(({ state }) => state)
      .toReversed();
  }

  #current(): Endpoint {
    if (this.#endpoint === undefined) throw new Error('an endpoint is added before each test');
    return this.#endpoint;
  }

  #steps({ ledger }: Service): DeliverySteps {
    const steps = createDeliverySteps(ledger);
    return {
      ...steps,
      nextDelivery: async (line) => {
        const key = await steps.nextDelivery(line);
        const happening = key === null ? this.beforeRunEnds : null;
        if (happening !== null) this.beforeRunEnds = null;
        await happening?.();
        return key;
      },
    };
  }

  #tries({ ledger }: Service, sender: WebhookSender): WebhookActivities {
    const activities = createWebhookActivities({ ledger, sender, explorer: EXPLORER, triesAtOnce: 100 });
    return {
      deliver: async (...given) => {
        this.beforeAttempt();
        return activities.deliver(...given);
      },
    };
  }
}

/** {@link DeliveryFixture} for the tests of one file. */
export function useDeliveryFixture(): DeliveryFixture {
  const fixture = new DeliveryFixture();
  beforeAll(() => fixture.start());
  afterAll(() => fixture.close());
  beforeEach(() => fixture.addEndpoint());
  afterEach(() => fixture.removeEndpoint());
  return fixture;
}

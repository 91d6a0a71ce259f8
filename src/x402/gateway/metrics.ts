import { Counter, Histogram, type Registry } from 'prom-client';
import { type ObserveStage, PAYMENT_STAGES, STAGE_METRIC } from '../../domain/payment-stages.ts';
import type { AnswerKind } from './answers.ts';

/** The gateway's counters of answers, and the histogram of its stages. */
export class GatewayMetrics {
  readonly #stages;
  readonly #answers: Counter<'route' | 'outcome'>;
  readonly #refusals: Counter<'reason'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const { name, help, bucketsSeconds } = STAGE_METRIC;
    const buckets = [...bucketsSeconds];
    const stages = new Histogram({ name, help, buckets, labelNames: ['stage'], registers });
    this.#stages = new Map(PAYMENT_STAGES.map((stage) => [stage, stages.labels({ stage })]));
    this.#answers = new Counter({
      name: 'sluice_x402_answers_total',
      help: 'Answers of the x402 gateway, by route and outcome.',
      labelNames: ['route', 'outcome'],
      registers,
    });
    this.#refusals = new Counter({
      name: 'sluice_x402_refusals_total',
      help: 'Payments that the x402 gateway refused, by reason.',
      labelNames: ['reason'],
      registers,
    });
  }

  readonly observe: ObserveStage = (stage, seconds) => this.#stages.get(stage)?.observe(seconds);

  /** `reason`: code of a refusal, never a text of the buyer. */
  count(route: string, outcome: AnswerKind, reason: string | null = null): void {
    this.#answers.inc({ route, outcome });
    if (reason !== null) this.#refusals.inc({ reason });
  }
}

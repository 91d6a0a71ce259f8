import type { MetricMeter } from '@temporalio/common';
import { type ObserveStage, STAGE_METRIC } from '../../domain/payment-stages.ts';

/** The histogram of the stages of x402 sales, on the metrics endpoint of a worker. */
export function stageHistogram(meter: MetricMeter): ObserveStage {
  const histogram = meter.createHistogram(STAGE_METRIC.name, 'float', undefined, STAGE_METRIC.help);
  return (stage, seconds) => histogram.record(seconds, { stage });
}

import { makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import { STAGE_METRIC } from '../domain/payment-stages.ts';
import { type Logger, temporalLogger } from './logging.ts';

/**
 * Installs the Temporal SDK's runtime with our logger, and with its Prometheus endpoint if an address is given. Must be
 * called once, before any other call of the SDK. The SDK ignores process signals, because we control the shutdown.
 */
export function installRuntime(logger: Logger, metricsAddress: string | undefined): void {
  Runtime.install({
    logger: temporalLogger(logger),
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      ...(metricsAddress === undefined
        ? {}
        : {
            metrics: {
              prometheus: {
                bindAddress: metricsAddress,
                useSecondsForDurations: true,
                histogramBucketOverrides: { [STAGE_METRIC.name]: [...STAGE_METRIC.bucketsSeconds] },
              },
            },
          }),
    },
  });
}

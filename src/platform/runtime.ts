import { makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import { type Logger, temporalLogger } from './logging.ts';

/**
 * Installs the Temporal SDK's runtime: our logger, and its Prometheus endpoint, with our own metrics, if an address is
 * given. Call it once, before any other SDK call. The SDK handles no signals: we control the shutdown.
 */
export function installRuntime(logger: Logger, metricsAddress: string | undefined): void {
  Runtime.install({
    logger: temporalLogger(logger),
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      ...(metricsAddress === undefined
        ? {}
        : { metrics: { prometheus: { bindAddress: metricsAddress, useSecondsForDurations: true } } }),
    },
  });
}

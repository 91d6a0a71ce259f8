import { makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import { type Logger, temporalLogger } from './logging.ts';

/**
 * Sets up the Temporal SDK of this process: our logger, and its Prometheus endpoint (which carries our own metrics, too) where an
 * address is given. Once a process, before anything else of the SDK; shutdown is ours, so the SDK takes no signals.
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

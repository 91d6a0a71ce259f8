import { WHOLE } from '../../domain/alerts.ts';
import { overviewOf, type ScanDeps } from './scan-run.ts';

const SILENT_MS = 60_000;
const MESSAGE =
  'nobody tells how the deposit scan stands, nor whether it is well: Temporal does not answer, or no chain worker runs';

/** Raises the alert that no worker can raise: all other scan alerts come from workers through Temporal. */
export class SilentScanGauge {
  readonly #deps: ScanDeps;
  #since: Date | null = null;

  constructor(deps: ScanDeps) {
    this.#deps = deps;
  }

  /** Call it about once a minute. A scan that was never started is not silent. */
  async look(now = new Date()): Promise<void> {
    const { alerts } = this.#deps.ledger;
    const { state } = await overviewOf(this.#deps);
    this.#since = state === 'silent' ? (this.#since ?? now) : null;
    if (this.#since === null) {
      await alerts.close('scan_silent', WHOLE);
      return;
    }
    if (now.getTime() - this.#since.getTime() < SILENT_MS) return;
    const details = { since: this.#since.toISOString() };
    await alerts.raise({ kind: 'scan_silent', subject: WHOLE, message: MESSAGE, details });
  }
}

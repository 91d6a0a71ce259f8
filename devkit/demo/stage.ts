import type { SluiceClient } from '../../src/client/client.ts';
import type { Stack } from '../localstack/stack.ts';
import type { DevelopmentPool } from './development-pool.ts';
import type { DemoUpstream } from './upstream.ts';

/** What every part of the demo works with. */
export interface Stage {
  readonly stack: Stack;
  readonly sluice: SluiceClient;
  /** The addresses that users get. */
  readonly pool: DevelopmentPool;
  /** What the gateway sells. */
  readonly upstream: DemoUpstream;
  /** URL of the node that is asked for the truth. */
  readonly node: string;
  readonly say: (line: string) => void;
  /** Ends the demo early; what waits rejects. */
  readonly signal: AbortSignal;
}

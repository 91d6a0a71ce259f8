import type { SluiceClient } from '../../src/client/client.ts';
import type { Stack } from '../localstack/stack.ts';
import type { DevelopmentPool } from './development-pool.ts';
import type { DemoUpstream } from './upstream.ts';

export interface Stage {
  readonly stack: Stack;
  readonly sluice: SluiceClient;
  readonly pool: DevelopmentPool;
  readonly upstream: DemoUpstream;
  readonly node: string;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

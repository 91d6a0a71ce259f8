import { afterEach, it, vi } from 'vitest';
import { hasValidator } from '../support/has-validator.ts';
import { noLeftovers, outcomesOnAnyChain } from './outcome-cases.ts';
import { useValidator } from './use-validator.ts';

// A payment is final after 13 s there; 150 blocks take a minute, on a busy machine two.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 300_000 });

if (hasValidator()) {
  const use = useValidator();
  afterEach(() => use.chain.heal());
  outcomesOnAnyChain(use, { quorum: 1, patienceMs: 480_000 });
  noLeftovers(use);
} else it.skip('the suite needs solana-test-validator on PATH', () => undefined);

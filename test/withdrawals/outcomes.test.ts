import { afterEach } from 'vitest';
import { noLeftovers, outcomesOnAnyChain } from './outcome-cases.ts';
import { useStack } from './use-stack.ts';

const use = useStack();
afterEach(() => use.chain.heal());

outcomesOnAnyChain(use, { quorum: 2, patienceMs: 120_000 });
noLeftovers(use);

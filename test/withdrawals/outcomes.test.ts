import { afterEach } from 'vitest';
import { nothingIsLeft, outcomesOnAnyChain } from './outcome-cases.ts';
import { useStack } from './use-stack.ts';

const use = useStack();
afterEach(() => use.chain.heal());

outcomesOnAnyChain(use, { quorum: 2, patienceMs: 120_000 });
nothingIsLeft(use);

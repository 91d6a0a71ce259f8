import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { startValidator } from '../../devkit/localstack/validator.ts';
import { hasValidator } from '../support/has-validator.ts';
import { sellOn } from './dev-command.ts';

const TITLE = 'sluice dev --rpc sells on a solana-test-validator that runs already';

if (hasValidator())
  it(TITLE, async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'sluice-own-chain-'));
    const chain = await startValidator({ hotWallet: newAddress(), stateDir, env: process.env });
    try {
      await sellOn(chain.info.rpcUrls[0] ?? '');
    } finally {
      await chain.stop();
      rmSync(stateDir, { recursive: true });
    }
  }, 300_000);
else it.skip(TITLE, () => undefined);

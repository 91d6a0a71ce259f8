import { describe, expect, it } from 'vitest';
import { type ClusterName, checkClusterName } from '../../src/domain/cluster.ts';

const MAINNET = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
const DEVNET = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';
const PRIVATE = '4uhcVJyU9pJkvQyS88uRDiswHScg5X3hJzxuBxKTrPSY';

const allowed = (name: ClusterName) =>
  [MAINNET, DEVNET, PRIVATE].filter((hash) => {
    try {
      checkClusterName(name, hash);
      return true;
    } catch {
      return false;
    }
  });

describe('the cluster setting', () => {
  it('allows only nodes of that cluster, and a private chain is any chain but mainnet', () => {
    expect(allowed('mainnet-beta')).toEqual([MAINNET]);
    expect(allowed('devnet')).toEqual([DEVNET]);
    expect(allowed('localnet')).toEqual([DEVNET, PRIVATE]);
  });

  it('is refused with the hash found and the hash expected', () => {
    expect(() => checkClusterName('mainnet-beta', DEVNET)).toThrow(new RegExp(`${DEVNET}.*${MAINNET}`));
    expect(() => checkClusterName('localnet', MAINNET)).toThrow(/mainnet-beta.*SLUICE_CLUSTER/);
  });
});

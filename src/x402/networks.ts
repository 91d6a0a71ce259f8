export interface Network {
  /** CAIP-2: `solana:` and the first 32 characters of the genesis hash. */
  readonly caip2: string;
  /** Name in x402 version 1. */
  readonly v1: 'solana' | 'solana-devnet';
  /** Name in the quote of the exchange interface. */
  readonly cluster: 'devnet' | 'mainnet';
  /** Mint of USDC, the default asset of official clients. */
  readonly usdc: string;
}

const DEVNET: Network = {
  caip2: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  v1: 'solana-devnet',
  cluster: 'devnet',
  usdc: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
};
const MAINNET: Network = {
  caip2: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  v1: 'solana',
  cluster: 'mainnet',
  usdc: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
};

/** By configured cluster. A local chain uses devnet's names: official clients accept no other. */
export const NETWORKS: Readonly<Record<'localnet' | 'devnet' | 'mainnet-beta', Network>> = {
  localnet: DEVNET,
  devnet: DEVNET,
  'mainnet-beta': MAINNET,
};

/** What a process of `main.ts` runs. */
export type PeerConfig =
  | {
      readonly peer: 'facilitator';
      readonly rpcUrl: string;
      /** Of the fee payer: the 64 bytes as a JSON array. */
      readonly secretKey: readonly number[];
    }
  | {
      readonly peer: 'server';
      readonly facilitatorUrl: string;
      readonly payTo: string;
      /** Price in base units of a mint. Default: that of the server in devnet's USDC. */
      readonly price?: { readonly asset: string; readonly amount: string };
    };

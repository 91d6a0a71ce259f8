import fc from 'fast-check';
import { expect, it } from 'vitest';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { decodeMessage } from '../../../src/solana/tx/message.ts';
import { sourceOf } from '../../../src/solana/tx/payment-source.ts';
import { composeTransfer } from '../../../src/solana/tx/transfer.ts';
import { anyTransfer, SIGNER, wallet } from '../../signing/any-transfer.ts';

it('a payment takes its asset from one account, and SOL from the wallet, where no rent is left open', () => {
  fc.assert(
    fc.property(anyTransfer, (transfer) => {
      const message = decodeMessage(composeTransfer(transfer).message);
      const { token } = transfer;
      expect(sourceOf(message, 'SOL')).toBe(token?.createAta === true ? null : SIGNER);
      if (token !== null)
        expect(sourceOf(message, token.mint)).toBe(deriveAta(SIGNER, token.mint, token.program));
      expect(sourceOf(message, wallet(9))).toBeNull();
    }),
    { numRuns: 200 },
  );
});

import { base58 } from '@scure/base';
import { TOKEN_PROGRAM_ID } from '@solana/spl-token';
import { PublicKey } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { WithdrawalTerms } from '../../src/client/client.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { until } from '../support/until.ts';
import {
  expectDeadThenLanded,
  historyText,
  logsOf,
  query,
  solTerms,
  waitForStatus,
} from './outcomes-support.ts';
import type { UsedStack } from './use-stack.ts';

/** The operations of a chain for {@link outcomesOnAnyChain}. */
export interface ChainTraits {
  /** Number of nodes that must agree on a dead attempt. */
  readonly quorum: number;
  /** Timeout of a test in which an attempt expires, or funds arrive. */
  readonly patienceMs: number;
}

/** Outcomes for which a chain only has to drop sends and expire blockhashes: on localnet, and on a validator. */
export function outcomesOnAnyChain(use: UsedStack, chain: ChainTraits): void {
  customerOutcomes(use);
  refusedDestinations(use);
  refusedAssets(use);
  tokenOutcomes(use);
  attemptsOnTheirWay(use, chain);
}

function customerOutcomes(use: UsedStack): void {
  describe('the customer', () => {
    it('is asked about an empty wallet, and is paid after a confirmation', async () => {
      const terms = solTerms('empty', { acceptEmptyWallet: false });
      await use.sluice.withdraw(terms);
      const waiting = await waitForStatus(use.sluice, terms.id, 'awaiting_confirmation');
      expect(waiting).toMatchObject({ reason: { code: 'empty_wallet' }, attempts: [] });
      await use.sluice.confirm(terms.id);
      expect(await use.sluice.waitForFinal(terms.id)).toMatchObject({
        status: 'finalized',
        confirmedByCustomer: true,
      });
      expect(await use.chain.paymentsTo(terms.destination)).toMatchObject([{ received: 2_000_000n }]);
    });

    it('may cancel before an attempt, and not after the payment', async () => {
      const terms = solTerms('cancelled', { acceptEmptyWallet: false });
      await use.sluice.withdraw(terms);
      await waitForStatus(use.sluice, terms.id, 'awaiting_confirmation');
      expect(await use.sluice.cancel(terms.id)).toMatchObject({ status: 'cancelled' });
      await expect(use.sluice.confirm(terms.id)).rejects.toMatchObject({ status: 409 });
      expect(await use.chain.paymentsTo(terms.destination)).toEqual([]);

      await payBy(use, solTerms('paid'));
      await expect(use.sluice.cancel('paid')).rejects.toMatchObject({ code: 'NotCancellable', status: 409 });
    });

    it('gets the same withdrawal for the same terms, and a conflict for other terms', async () => {
      const terms = solTerms('repeated');
      const first = await payBy(use, terms);
      expect(await use.sluice.withdraw(terms)).toMatchObject({
        status: 'finalized',
        attempts: first.attempts,
      });
      const others = use.sluice.withdraw({ ...terms, amount: '2000001' });
      await expect(others).rejects.toMatchObject({ code: 'TermsConflict', status: 409 });
      expect(await use.chain.paymentsTo(terms.destination)).toHaveLength(1);
    });
  });
}

function refusedDestinations(use: UsedStack): void {
  describe('a destination that must never be paid', () => {
    const cases: readonly [what: string, code: string, address: () => string | Promise<string>][] = [
      ['a mint', 'mint', () => use.chain.mint('mint')],
      [
        'a token account',
        'token_account',
        () => deriveAta(use.stack.hotWallet, use.chain.mint('mint'), TOKEN_PROGRAM_ID.toBase58()),
      ],
      ['a program', 'program', () => TOKEN_PROGRAM_ID.toBase58()],
      ['an address off the curve', 'off_curve', () => offCurve('nothing')],
      [
        'an address of a program that holds lamports',
        'pda',
        async () => {
          const address = offCurve('funded');
          await use.chain.airdrop(address, 5_000_000);
          return address;
        },
      ],
      ['a point of small order', 'small_order', () => base58.encode(Uint8Array.of(1, ...new Uint8Array(31)))],
      ['the hot wallet itself', 'own_address', () => use.stack.hotWallet],
    ];

    it.each(cases)('is %s: %s', async (_what, code, address) => {
      const terms = solTerms(`rejected-${code}`, { destination: await address() });
      expect(await payBy(use, terms)).toMatchObject({ status: 'rejected', reason: { code }, attempts: [] });
    });

    it.each(['0OIl'.repeat(10), 'abc'])(
      'is not an address at all, and uses no id: %s',
      async (destination) => {
        const terms = solTerms(`malformed-${destination}`, { destination });
        await expect(use.sluice.withdraw(terms)).rejects.toMatchObject({
          code: 'InvalidRequest',
          status: 400,
        });
        await expect(use.sluice.get(terms.id)).rejects.toMatchObject({ code: 'NotFound' });
      },
    );
  });
}

function refusedAssets(use: UsedStack): void {
  describe('an asset or an amount that cannot be paid', () => {
    it('is below the minimum balance of an account on this chain', async () => {
      expect(await payBy(use, solTerms('dust', { amount: '890879' }))).toMatchObject({
        status: 'rejected',
        reason: { code: 'amount_below_minimum' },
      });
    });

    it('is a token whose address is not a mint', async () => {
      expect(await payBy(use, solTerms('no-mint', { asset: newAddress() }))).toMatchObject({
        status: 'rejected',
        reason: { code: 'asset_rejected' },
      });
    });
  });
}

function tokenOutcomes(use: UsedStack): void {
  describe('a token withdrawal', () => {
    it('creates the token account, reserves its rent until it has landed, and writes its memo', async () => {
      const mint = use.chain.mint('mint');
      const terms = solTerms('token', { asset: mint, amount: '12500000', memo: 'invoice ✓ 17' });
      await use.chain.swallowSends();
      await use.sluice.withdraw(terms);
      const { attempts } = await waitForStatus(use.sluice, terms.id, 'sending');
      const reserved = await query<{ asset: string; amount: string }>(
        use.stack,
        `select asset, amount::text from reservation where settlement_id = $1 and state = 'open' order by amount`,
        [terms.id],
      );
      const { feeLamports = '', rentLamports = '' } = attempts[0] ?? {};
      const account = deriveAta(terms.destination, mint, TOKEN_PROGRAM_ID.toBase58());
      expect(reserved).toContainEqual({ asset: mint, amount: '12500000' });
      expect(reserved).toContainEqual({
        asset: 'SOL',
        amount: String(BigInt(feeLamports) + BigInt(rentLamports)),
      });
      await use.chain.heal();

      const paid = await use.sluice.waitForFinal(terms.id);
      expect(paid).toMatchObject({ status: 'finalized', amountReceived: '12500000' });
      expect(await use.chain.lamports(account)).toBe(Number(rentLamports));
      expect(await use.chain.memosOf(paid.attempts.at(-1)?.signature ?? '')).toEqual(['invoice ✓ 17']);
      expect(await use.chain.paymentsTo(terms.destination)).toMatchObject([
        { asset: mint, received: 12_500_000n },
      ]);
    });

    it('with a transfer fee shows the received amount, as the chain does', async () => {
      const terms = solTerms('fee-token', { asset: use.chain.mint('feeMint'), amount: '1000001' });
      const { amountReceived } = await payBy(use, terms);
      const [payment] = await use.chain.paymentsTo(terms.destination);
      expect(amountReceived).toBe('990000');
      expect(payment?.received.toString()).toBe(amountReceived);
    });
  });
}

function attemptsOnTheirWay(use: UsedStack, { quorum, patienceMs }: ChainTraits): void {
  describe('a withdrawal with a pending transaction', () => {
    it(
      'that never arrives is paid by a later attempt alone, after proof that the first is dead',
      async () => {
        const terms = solTerms('dead');
        await use.chain.swallowSends();
        await use.sluice.withdraw(terms);
        await waitForStatus(use.sluice, terms.id, 'sending');
        await use.chain.expireBlockhashes();
        await until(async () => (await use.sluice.get(terms.id)).attempts.length > 1);
        await use.chain.heal();

        const paid = await use.sluice.waitForFinal(terms.id);
        expect(paid.status).toBe('finalized');
        expectDeadThenLanded(paid);
        const [proof] = await query<{ proof: Record<string, unknown> }>(
          use.stack,
          'select proof from attempt where settlement_id = $1 and n = 1',
          [terms.id],
        );
        expect(proof?.proof).toMatchObject({ quorum, linkedBlocks: { containsSignature: false } });
        const payments = await use.chain.paymentsTo(terms.destination);
        expect(payments.map(({ signature }) => signature)).toEqual([paid.attempts.at(-1)?.signature]);
      },
      patienceMs,
    );

    it(
      'waits for funds, and continues by itself when they arrive',
      async () => {
        const held = BigInt(await use.chain.lamports(use.stack.hotWallet));
        const terms = solTerms('short', { amount: String(held + 1_000_000_000n) });
        await use.sluice.withdraw(terms);
        const waiting = await waitForStatus(use.sluice, terms.id, 'awaiting_funds');
        expect(waiting).toMatchObject({ reason: { code: 'insufficient_funds' }, attempts: [] });
        await use.chain.airdrop(use.stack.hotWallet, 2_000_000_000_000);
        expect(await use.sluice.waitForFinal(terms.id)).toMatchObject({ status: 'finalized' });
        expect(await use.chain.paymentsTo(terms.destination)).toHaveLength(1);
      },
      patienceMs,
    );
  });
}

/** The last tests of a file: no test before them leaves anything open. */
export function noLeftovers(use: UsedStack): void {
  describe('the stack, after the end of all withdrawals,', () => {
    it('has no reservation left', async () => {
      const [row] = await query<{ sum: string }>(
        use.stack,
        `select coalesce(sum(amount), 0)::text as sum from reservation where state = 'open'`,
      );
      expect(row?.sum).toBe('0');
    });

    it('has no key in any history or log', async () => {
      const secret = use.chain.hotKey().secretKey;
      const spellings = [secret, secret.slice(0, 32)].flatMap((bytes) => [
        base58.encode(bytes),
        Buffer.from(bytes).toString('base64').replace(/=+$/, ''),
        Buffer.from(bytes).toString('hex'),
        [...bytes].join(','),
        [...bytes].join(', '),
      ]);
      const ids: string[] = [];
      for await (const { id } of use.sluice.list()) ids.push(id);
      expect(ids.length).toBeGreaterThan(15);
      const histories = await Promise.all(
        ids.map(async (id) => [id, await historyText(use.stack, id)] as const),
      );
      expect(histories.find(([id]) => id === 'paid')?.[1]).toContain('2000000');
      const leaks = [...histories, ...logsOf(use.stack)].filter(([, text]) =>
        spellings.some((spelling) => text.includes(spelling)),
      );
      expect(leaks.map(([name]) => name)).toEqual([]);
    });
  });
}

async function payBy(use: UsedStack, terms: WithdrawalTerms) {
  await use.sluice.withdraw(terms);
  return use.sluice.waitForFinal(terms.id, { pollMs: 100 });
}

/** An address that no key can have: the first derived address of a program. */
function offCurve(seed: string): string {
  const [address] = PublicKey.findProgramAddressSync([Buffer.from(seed)], TOKEN_PROGRAM_ID);
  return address.toBase58();
}

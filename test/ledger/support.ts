import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll } from 'vitest';
import { type ErrorCode, isDomainError } from '../../src/domain/errors.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { PauseRow } from '../../src/ledger/operations/pauses.ts';
import type { AttemptOutcome, NewAttempt, ReservationInput } from '../../src/ledger/settlements/attempts.ts';
import { freshDatabase } from '../support/postgres.ts';
import { terms } from './terms.ts';

export const REASON = { code: 'test', message: 'because of the test' };
export const DEAD: AttemptOutcome = { state: 'dead', proof: { heights: [1151n] } };

let serial = 0;

/** An id that no other test of this file uses. */
export function newId(prefix = 'w'): string {
  serial += 1;
  return `${prefix}-${serial}`;
}

/** A ledger on a migrated database without rows for the tests of one file. */
export function useLedger(): { readonly ledger: Ledger; readonly url: string } {
  let ledger: Ledger | undefined;
  let database: Awaited<ReturnType<typeof freshDatabase>> | undefined;
  beforeAll(async () => {
    database = await freshDatabase();
    ledger = await openLedger(database.url);
  });
  afterAll(async () => {
    await ledger?.close();
    await database?.drop();
  });
  return {
    get ledger() {
      if (ledger === undefined) throw new Error('the ledger opens before the first test');
      return ledger;
    },
    get url() {
      if (database === undefined) throw new Error('the database is made before the first test');
      return database.url;
    },
  };
}

/** Ends every pause as an operator who has acknowledged all alerts. */
export async function resume(ledger: Ledger): Promise<readonly PauseRow[]> {
  const { rows } = await ledger.alerts.list({ open: true, limit: 200 });
  const seen = rows.map(({ position }) => position);
  return ledger.pauses.end({ actor: 'ops', reason: 'looked at', seen });
}

export function attempt(settlementId: string, n = 1, changes: Partial<NewAttempt> = {}): NewAttempt {
  return {
    settlementId,
    n,
    signers: ['hot'],
    messageHash: createHash('sha256').update(`${settlementId}/${n}`).digest('hex'),
    message: 'AQID',
    blockhash: 'hash-1000',
    blockhashSlot: 2000n,
    blockhashHeight: 1000n,
    lastValidBlockHeight: 1150n,
    adoptedFrom: null,
    nonceAccount: null,
    bareAdvance: false,
    computeUnitLimit: 450,
    computeUnitPriceMicroLamports: 10_000n,
    feeLamports: 5n,
    rentLamports: 0n,
    ...changes,
  };
}

/** A need of SOL in a wallet that holds `balance`, read at `slot`. */
export function solNeed(
  amount: bigint,
  balance: bigint,
  options: { wallet?: string; slot?: bigint; keep?: bigint } = {},
): readonly ReservationInput[] {
  const { wallet = 'hot', slot = 100n, keep = 0n } = options;
  const needs = [{ asset: 'SOL', amount, finalizedBalance: balance, keep }];
  return [{ wallet, observedSlot: slot, needs }];
}

export const PLENTY = solNeed(1n, 10n ** 15n);

/** Base units of open reservations: of the asset in the wallet, or of all assets and wallets. */
export async function openReservations(ledger: Ledger, wallet?: string, asset = ''): Promise<bigint> {
  const sums = ledger.db.selectFrom('reserved').select(sql<bigint>`coalesce(sum(amount), 0)`.as('amount'));
  const some = wallet === undefined ? sums : sums.where('wallet', '=', wallet).where('asset', '=', asset);
  return (await some.executeTakeFirstOrThrow()).amount;
}

/** The id of a new withdrawal. */
export async function reserved(ledger: Ledger): Promise<string> {
  const id = newId();
  await ledger.withdrawals.reserve(terms(id));
  return id;
}

/** The id of a withdrawal whose first attempt is signed. */
export async function signed(ledger: Ledger): Promise<string> {
  const id = await reserved(ledger);
  await ledger.attempts.prepare(attempt(id), PLENTY);
  await ledger.attempts.storeSignature(id, 1, `sig-${id}`);
  return id;
}

/** The result of preparing attempt `n` of a withdrawal, by a wallet with sufficient funds. */
export async function preparation(ledger: Ledger, id: string, n = 1): Promise<string> {
  return (await ledger.attempts.prepare(attempt(id, n), PLENTY)).kind;
}

/** The code of the DomainError that `work` ends with, or `none`; other errors pass through. */
export async function codeOf(work: Promise<unknown>): Promise<ErrorCode | 'none'> {
  try {
    await work;
    return 'none';
  } catch (error) {
    if (isDomainError(error)) return error.code;
    throw error;
  }
}

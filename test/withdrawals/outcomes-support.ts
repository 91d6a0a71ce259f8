import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Keypair,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import type { Client, WorkflowHandle } from '@temporalio/client';
import pg from 'pg';
import { expect } from 'vitest';
import type { Fault } from '../../devkit/localnet/faults.ts';
import { type Books, readBooks } from '../../devkit/localstack/books.ts';
import { mintsOf } from '../../devkit/localstack/chain.ts';
import { type ChainPayment, paymentsOnChain } from '../../devkit/localstack/chain-truth.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { ManagedProcess } from '../../devkit/localstack/process.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import type { Stack } from '../../devkit/localstack/stack.ts';
import type { SluiceClient, Withdrawal, WithdrawalStatus } from '../../src/client/client.ts';
import { withdrawalWorkflowId } from '../../src/domain/ids.ts';
import type { WithdrawalTerms } from '../../src/domain/withdrawal.ts';
import { BLOCKHASH_SHARED_MS } from '../../src/solana/chain.ts';
import { temporalClient } from '../support/temporal.ts';
import { until } from '../support/until.ts';

/** Terms of a withdrawal of SOL to a new wallet. */
export function solTerms(id: string, changes: Partial<WithdrawalTerms> = {}): WithdrawalTerms {
  const terms = { id, asset: 'SOL', amount: '2000000', destination: newAddress(), acceptEmptyWallet: true };
  return { ...terms, ...changes };
}

/** The changes that a test makes to the chain of a running stack, and its direct reads of the chain. */
export class ChainControls {
  readonly #stack: Stack;

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  get url(): string {
    return this.#stack.rpcUrls[0] ?? '';
  }

  /** The address of a mint that the chain created at its start. */
  mint(name: 'mint' | 'feeMint'): string {
    const mint = mintsOf(this.#stack.chainInfo)[name];
    if (mint === undefined) throw new Error(`the chain has no ${name}`);
    return mint;
  }

  /** The hot wallet's own key, which only the signer should have: for the actions of a thief or a mistake. */
  hotKey(): Keypair {
    const bytes: number[] = JSON.parse(readFileSync(this.#stack.signerKeyFile, 'utf8'));
    return Keypair.fromSecretKey(Uint8Array.from(bytes));
  }

  /** Sends lamports, and waits until the transfer is final. */
  async airdrop(address: string, lamports: number): Promise<void> {
    const before = await this.lamports(address);
    await rpc(this.url, 'requestAirdrop', [address, lamports]);
    await until(async () => (await this.lamports(address)) !== before);
  }

  async lamports(address: string): Promise<number> {
    const params = [address, { commitment: 'finalized' }];
    return (await rpc<{ value: number }>(this.url, 'getBalance', params)).value;
  }

  /** Ends all faults and sends in one request to one node, so that no pending resend arrives first. */
  async healAndSend(signer: Keypair, instructions: TransactionInstruction[]): Promise<void> {
    const { value } = await rpc<{ value: { blockhash: string } }>(this.url, 'getLatestBlockhash', []);
    const message = new TransactionMessage({
      payerKey: signer.publicKey,
      recentBlockhash: value.blockhash,
      instructions,
    });
    const signed = new VersionedTransaction(message.compileToV0Message());
    signed.sign([signer]);
    const raw = Buffer.from(signed.serialize()).toString('base64');
    const calls = [
      { method: 'localnet_clearFaults', params: [] },
      { method: 'sendTransaction', params: [raw, { encoding: 'base64', skipPreflight: true }] },
    ];
    const response = await fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))),
    });
    const text = await response.text();
    if (!response.ok || text.includes('"error"')) throw new Error(`the chain refused: ${text}`);
  }

  /** Every node accepts transactions and drops them, until {@link heal}. */
  async swallowSends(): Promise<void> {
    const lie = { kind: 'result', result: '1'.repeat(64) } as const;
    await this.disturb('sendTransaction', lie);
  }

  /** A fault of one method on some or all nodes, until {@link heal}. */
  async disturb(method: string, fault: Fault, nodes?: readonly number[]): Promise<void> {
    for (const node of nodes ?? this.#stack.rpcUrls.keys())
      await rpc(this.url, 'localnet_setFault', [node, method, fault]);
  }

  /** Makes so many blocks at once that every earlier blockhash has expired, finally: each live attempt of this chain ends. */
  async expireBlockhashes(): Promise<void> {
    await rpc(this.url, 'localnet_produceSlots', [BLOCKHASH_LIFE + FINALITY]);
  }

  async heal(): Promise<void> {
    await rpc(this.url, 'localnet_clearFaults', []);
  }

  /** The amount that a wallet received from the hot wallet, by the finalized blocks. */
  async paymentsTo(wallet: string): Promise<readonly ChainPayment[]> {
    const payments = await paymentsOnChain(this.url, this.#stack.hotWallet);
    return payments.filter((payment) => payment.wallet === wallet);
  }

  /** The parsed memos of a transaction. */
  async memosOf(signature: string): Promise<readonly unknown[]> {
    const options = { encoding: 'jsonParsed', commitment: 'finalized', maxSupportedTransactionVersion: 0 };
    const { transaction } = await rpc<{
      transaction: { message: { instructions: { program?: string; parsed?: unknown }[] } };
    }>(this.url, 'getTransaction', [signature, options]);
    const memos = transaction.message.instructions.filter(({ program }) => program === 'spl-memo');
    return memos.map(({ parsed }) => parsed);
  }
}

/** The validity of a blockhash in blocks, and some blocks more. */
const BLOCKHASH_LIFE = 170;
/** More blocks than the chain of a stack has above its finalized one. */
const FINALITY = 16;

/**
 * {@link readBooks} of a stack without a live attempt: it first makes blocks until no earlier attempt could land. Afterwards no
 * process has an expired blockhash for its next attempt.
 */
export async function settledBooks(stack: Stack): Promise<Books> {
  await new ChainControls(stack).expireBlockhashes();
  const [newest] = await query<{ leftMs: number }>(stack, LEFT_OF_SHARED_BLOCKHASH, [BLOCKHASH_SHARED_MS]);
  await sleep(Math.max(0, newest?.leftMs ?? 0));
  return readBooks(stack);
}

/** How long the blockhash of the newest attempt can still be shared. */
const LEFT_OF_SHARED_BLOCKHASH = `select $1 - 1000 * extract(epoch from now() - max(created_at))::float8 as "leftMs"
  from attempt`;

/** Rows of a query on the stack's own database. */
export async function query<T extends pg.QueryResultRow>(
  stack: Stack,
  text: string,
  values: readonly unknown[] = [],
): Promise<T[]> {
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  try {
    return (await client.query<T>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** Starts a round of a schedule, and waits until it ends. */
export async function wholeRound(
  temporal: Client,
  schedule: 'restartUnfinished' | 'walletWatch',
): Promise<void> {
  const handle = temporal.schedule.getHandle(schedule);
  const count = async () => (await handle.describe()).info.numActionsTaken;
  const before = await count();
  await until(async () => {
    await handle.trigger();
    return (await count()) > before;
  });
  const { action } = (await handle.describe()).info.recentActions.at(-1) ?? {};
  if (action === undefined) throw new Error('the round has begun');
  await temporal.workflow.getHandle(action.workflow.workflowId, action.workflow.firstExecutionRunId).result();
}

/** The withdrawal as soon as it has this status. */
export async function waitForStatus(
  sluice: SluiceClient,
  id: string,
  status: WithdrawalStatus,
): Promise<Withdrawal> {
  let seen = await sluice.get(id);
  await until(async () => {
    seen = await sluice.get(id);
    return seen.status === status;
  });
  return seen;
}

/**
 * Expects that the last attempt landed and every earlier one, at least one, died. Workers share a blockhash for three seconds, in which
 * {@link ChainControls.expireBlockhashes} makes 150 blocks: an attempt after the first can also carry an expired blockhash and die.
 */
export function expectDeadThenLanded({ attempts }: Pick<Withdrawal, 'attempts'>): void {
  const dead = Array.from({ length: Math.max(1, attempts.length - 1) }, () => 'dead');
  expect(attempts.map(({ state }) => state)).toEqual([...dead, 'landed']);
}

/** The history of a withdrawal's workflow, as text with every payload decoded. */
export async function historyText(stack: Stack, id: string): Promise<string> {
  const history = await withdrawalRun(stack, id).fetchHistory();
  return textOf(history.events ?? []);
}

function withdrawalRun(stack: Stack, id: string): WorkflowHandle {
  return temporalClient(stack.temporal).workflow.getHandle(withdrawalWorkflowId(id));
}

/** The workflow ids that a list filter of the Web UI finds. */
export async function listed(stack: Stack, filter: string): Promise<readonly string[]> {
  const ids: string[] = [];
  const { workflow } = temporalClient(stack.temporal);
  for await (const { workflowId } of workflow.list({ query: filter })) ids.push(workflowId);
  return ids;
}

/** The current details that the Web UI shows for a running withdrawal. */
export async function currentDetailsOf(stack: Stack, id: string): Promise<string> {
  const run = withdrawalRun(stack, id);
  const metadata = await run.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return metadata.currentDetails ?? '';
}

/**
 * Waits until this worker has the landing of a withdrawal and has reported it to Temporal. Polls that a suspended worker left open may
 * get the landing first, each for one heartbeat timeout.
 */
export async function waitForTakeover(stack: Stack, id: string, { pid }: ManagedProcess): Promise<void> {
  const run = withdrawalRun(stack, id);
  await until(async () => {
    const [landing] = (await run.describe()).raw.pendingActivities ?? [];
    if (landing?.lastWorkerIdentity?.startsWith(`${pid}@`) !== true) return false;
    const { state, lastStartedTime, lastHeartbeatTime } = landing;
    return state === STARTED && millisOf(lastHeartbeatTime) > millisOf(lastStartedTime);
  }, TAKEOVER_MS);
}

type Timestamp = { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined;

function millisOf(time: Timestamp): number {
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1_000_000;
}

const TAKEOVER_MS = 150_000;

/** PENDING_ACTIVITY_STATE_STARTED of Temporal's API. */
const STARTED = 2;

// Payloads are bytes in objects of any depth; the search must miss none of them.
function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.values(value).map(textOf).join('\n');
}

/** The complete output of the processes of the stack, by file name. */
export function logsOf(stack: Stack): readonly (readonly [name: string, text: string])[] {
  return readdirSync(stack.logDir).map((name) => [name, readFileSync(join(stack.logDir, name), 'utf8')]);
}

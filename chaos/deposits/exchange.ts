import { generateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import type { Client } from '@temporalio/client';
import type { ManagedProcess } from '../../devkit/localstack/process.ts';
import type { SluiceClient } from '../../src/client/client.ts';
import { DepositKeys, seedOf } from '../../src/deposits/addresses/hd-keys.ts';
import { depositScanWorkflowId } from '../../src/domain/ids.ts';
import type { Slots } from '../../src/domain/scan.ts';
import { lowest } from '../../src/domain/units.ts';
import { retryWhileUnavailable } from '../unavailable.ts';

const SCAN = depositScanWorkflowId('localnet');

/** An exchange as its operators and its users see it: over the API, and the state of its work in Temporal. */
export class Exchange {
  readonly #sluice: SluiceClient;
  readonly #temporal: Client;
  readonly #keys: DepositKeys;
  readonly #end: AbortSignal;
  readonly #addresses = new Map<number, Promise<string>>();
  #derived = 0;
  #given = 0;

  private constructor(sluice: SluiceClient, temporal: Client, keys: DepositKeys, end: AbortSignal) {
    this.#sluice = sluice;
    this.#temporal = temporal;
    this.#keys = keys;
    this.#end = end;
  }

  /** With new words for its keys. `end` ends every call that waits. */
  static async open(sluice: SluiceClient, temporal: Client, end: AbortSignal): Promise<Exchange> {
    return new Exchange(sluice, temporal, new DepositKeys(await seedOf(generateMnemonic(wordlist))), end);
  }

  /** How many users were given an address. */
  get given(): number {
    return this.#given;
  }

  /** The wallet of a user: the first time a new one is imported, signed offline, and one is given out, however often the API dies. */
  addressOf(user: number): Promise<string> {
    const known = this.#addresses.get(user);
    if (known !== undefined) return known;
    const address = this.#register(user);
    this.#addresses.set(user, address);
    return address;
  }

  /** Lists an asset, however often the API dies. */
  async list(asset: string, minimumDeposit: bigint): Promise<void> {
    await this.#insist(() => this.#sluice.assets.put(asset, { minimumDeposit: minimumDeposit.toString() }));
  }

  /** Has the scan read again what was final last, deposits of as many slots at most; false where none is yet. */
  async rescan(slots: bigint): Promise<boolean> {
    let range: Slots | null = null;
    for await (const deposit of this.#sluice.deposits.list({ state: 'final' })) {
      const slot = BigInt(deposit.slot);
      range ??= { from: slot, to: slot };
      if (slot < range.to - slots) break;
      range = { ...range, from: lowest([range.from, slot]) };
    }
    if (range === null) return false;
    await this.#sluice.backfills.start({
      from: `${range.from}`,
      to: `${range.to}`,
      reason: 'to deliver twice',
    });
    return true;
  }

  /** The worker that reads blocks now; undefined if none of these does, or Temporal does not report it. */
  async scanner(workers: readonly ManagedProcess[]): Promise<ManagedProcess | undefined> {
    const { raw } = await this.#temporal.workflow.getHandle(SCAN).describe();
    const identities = (raw.pendingActivities ?? []).map(
      ({ lastWorkerIdentity }) => lastWorkerIdentity ?? '',
    );
    return workers.find(
      ({ pid }) => pid !== undefined && identities.some((one) => one.startsWith(`${pid}@`)),
    );
  }

  async #register(user: number): Promise<string> {
    const manifest = this.#keys.manifest([this.#keys.entry(this.#derived)]);
    this.#derived += 1;
    await this.#insist(() => this.#sluice.depositAddresses.import(manifest));
    const { address } = await this.#insist(() => this.#sluice.depositAddresses.assign(userRefOf(user)));
    this.#given += 1;
    return address;
  }

  #insist<T>(call: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(call, this.#end);
  }
}

/** The name of a user of a plan. */
export function userRefOf(user: number): string {
  return `chaos-user-${user}`;
}

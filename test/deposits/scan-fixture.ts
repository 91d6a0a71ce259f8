import { Keypair, PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import type { Lie } from '../../devkit/localnet/rpc/false-answers.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { DepositConfirmer } from '../../src/deposits/credits/confirm.ts';
import { DepositMatcher, type MatcherOptions } from '../../src/deposits/scan/matcher.ts';
import { DepositScanner, type ScanStep } from '../../src/deposits/scan/scanner.ts';
import { isParent } from '../../src/domain/block-link.ts';
import type { Slots } from '../../src/domain/scan.ts';
import type { DepositRow } from '../../src/ledger/deposits/deposit-row.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { GapRow } from '../../src/ledger/scan/gaps.ts';
import { LedgerCompleteness } from '../../src/solana/history/ledger-completeness.ts';
import { WalletLists } from '../../src/solana/history/wallet-signatures.ts';
import { sendTransaction } from '../../src/solana/rpc/methods.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { latestBlockhash } from '../../src/solana/tx/blockhash.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { useLedger } from '../ledger/support.ts';

/** Blocks between the newest one and the newest finalized one. */
export const FINALITY_LAG = 2;

/** A chain that makes blocks only on request, a database and scanners, for the tests of one file. */
export class ScanFixture {
  readonly #use: { readonly ledger: Ledger; readonly url: string };
  #localnet: Localnet | undefined;
  #pool: NodePool | undefined;

  constructor(use: { readonly ledger: Ledger; readonly url: string }) {
    this.#use = use;
  }

  get ledger(): Ledger {
    return this.#use.ledger;
  }

  get url(): string {
    return this.#use.url;
  }

  get localnet(): Localnet {
    if (this.#localnet === undefined) throw new Error('the chain starts before the first test');
    return this.#localnet;
  }

  get pool(): NodePool {
    if (this.#pool === undefined) throw new Error('the pool opens before the first test');
    return this.#pool;
  }

  async start(nodes: number): Promise<void> {
    this.#localnet = await startLocalnet({ slotMs: 0, finalityLag: FINALITY_LAG, nodes });
    this.#pool = await openNodePool(this.#localnet.rpcUrls);
    await this.list(this.#localnet.mint.address, TOKEN_PROGRAM, this.#localnet.mint.decimals);
  }

  async close(): Promise<void> {
    await this.#pool?.close();
    await this.#localnet?.close();
  }

  async list(asset: string, program: string | null, decimals: number, minimumDeposit = 1n): Promise<void> {
    const extensions: string[] = [];
    await this.ledger.assets.put({ asset, program, decimals, extensions, minimumDeposit, depositsOn: true });
  }

  /** A scanner of a process that has just started. */
  scanner(startSlot?: bigint): DepositScanner {
    return new DepositScanner({ ...this.deps(), startSlot });
  }

  deps(pool = this.pool, changes: Pick<MatcherOptions, 'maxAgeMs' | 'maxMentions'> = {}) {
    const minimumLamports = async () => 890_880n;
    const options = { ownerChangeAllowed: false, maxTransactionVersion: 1, minimumLamports, ...changes };
    return {
      ledger: this.ledger,
      pool,
      lists: new WalletLists(),
      completeness: new LedgerCompleteness(),
      matcher: new DepositMatcher(this.ledger, options),
    };
  }

  /** A wallet that is watched from now on. */
  async newDepositAddress(): Promise<string> {
    const address = newAddress();
    await this.ledger.addresses.import([{ address, path: `m/${address}` }]);
    return address;
  }

  /** A scanned deposit that is not confirmed yet. */
  async unconfirmed(): Promise<DepositRow> {
    await this.scanAll(this.scanner());
    const wallet = await this.newDepositAddress();
    await this.localnet.airdrop(wallet, 7_000_000n);
    this.finalize();
    await this.scanAll(this.scanner());
    const [row] = await this.depositsOf(wallet);
    if (row === undefined) throw new Error('the scan recorded no deposit');
    return row;
  }

  /** Makes blocks until the sent transactions are finalized. */
  finalize(blocks = FINALITY_LAG + 1): void {
    this.localnet.controls.produceSlots(blocks);
  }

  /** Steps until no block is left to read; returns the last step. */
  async scanAll(scanner: DepositScanner): Promise<ScanStep> {
    for (let steps = 0; steps < 200; steps += 1) {
      const step = await scanner.step();
      if (step.state !== 'continues') return step;
    }
    throw new Error('the scan does not end');
  }

  /** Scans the sent transactions while the node that is asked first changes every block; the node is honest afterwards. */
  async scanWithLie(lie: Lie): Promise<void> {
    this.finalize();
    this.localnet.controls.setFault(0, 'getBlock', { kind: 'false-block', lie });
    await this.scanAll(this.scanner());
    this.localnet.controls.clearFaults();
  }

  /** A wallet of ours that can sign, with this amount as a confirmed deposit. */
  async newSigner(lamports: bigint): Promise<Keypair> {
    await this.scanAll(this.scanner());
    const ours = Keypair.generate();
    const address = ours.publicKey.toBase58();
    await this.ledger.addresses.import([{ address, path: `m/${address}` }]);
    await this.localnet.airdrop(address, lamports);
    this.finalize();
    await this.scanAll(this.scanner());
    await this.confirm();
    return ours;
  }

  /** A transfer to each of these addresses; one wallet, of ours or of another owner, signs it and pays the fee. */
  async sweep(from: Keypair, to: string | readonly string[], lamports: bigint): Promise<void> {
    const { blockhash } = await latestBlockhash(this.pool);
    const instructions = [to]
      .flat()
      .map((each) =>
        SystemProgram.transfer({ fromPubkey: from.publicKey, toPubkey: new PublicKey(each), lamports }),
      );
    const message = { payerKey: from.publicKey, recentBlockhash: blockhash, instructions };
    const transaction = new VersionedTransaction(new TransactionMessage(message).compileToV0Message());
    transaction.sign([from]);
    const bytes = Buffer.from(transaction.serialize()).toString('base64');
    await this.pool.read((node) => sendTransaction(node, bytes));
  }

  confirm(): Promise<number> {
    return new DepositConfirmer(this.deps()).confirm();
  }

  /** The gap at the cursor of the scan. */
  async openGap(): Promise<GapRow | undefined> {
    return (await this.ledger.gaps.list(100)).find(({ state }) => state === 'open');
  }

  /** An operator closes the gap at the cursor of the scan. */
  async closeGap(): Promise<Slots> {
    const gap = await this.openGap();
    if (gap === undefined) throw new Error('the scan is at no gap');
    const slots = { from: gap.fromSlot, to: gap.toSlot };
    await this.ledger.gaps.close({ ...slots, actor: 'operator', reason: 'lost' });
    return slots;
  }

  async depositsOf(address: string): Promise<readonly DepositRow[]> {
    return (await this.ledger.deposits.list({ address, limit: 1_000 })).rows;
  }

  /** Deletes these deposits from the database. */
  async lose(deposits: readonly DepositRow[]): Promise<void> {
    const ids = deposits.map(({ id }) => id);
    await this.ledger.db.deleteFrom('depositEvent').where('depositId', 'in', ids).execute();
    await this.ledger.db.deleteFrom('deposit').where('id', 'in', ids).execute();
  }

  /** Checks that every block up to the cursor is the parent of the next, or of a closed gap; returns their number. */
  async chainLength(): Promise<number> {
    const cursor = await this.ledger.scan.cursor();
    const headers = await this.ledger.scan.headersBetween(0n, cursor?.slot ?? 0n);
    const closed = (await this.ledger.gaps.list(100)).filter(({ state }) => state === 'closed');
    for (const [index, header] of headers.entries()) {
      const before = headers[index - 1];
      if (before === undefined || isParent(before, header)) continue;
      const gap = closed.find(({ fromSlot }) => fromSlot === before.slot + 1n);
      if (gap?.blockhash !== header.previousBlockhash)
        throw new Error(`block ${header.slot} does not follow block ${before.slot}`);
    }
    if (headers.at(-1)?.slot !== cursor?.slot) throw new Error('the cursor is not the last block');
    return headers.length;
  }
}

/** {@link ScanFixture} for the tests of one file. */
export function useScanFixture(nodes = 2): ScanFixture {
  const fixture = new ScanFixture(useLedger());
  beforeAll(() => fixture.start(nodes));
  afterEach(() => fixture.localnet.controls.clearFaults());
  afterAll(() => fixture.close());
  return fixture;
}

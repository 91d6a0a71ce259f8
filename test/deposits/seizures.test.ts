import {
  createBurnInstruction,
  createInitializePermanentDelegateInstruction,
  createTransferCheckedInstruction,
  ExtensionType,
  TOKEN_2022_PROGRAM_ID,
} from '@solana/spl-token';
import { PublicKey } from '@solana/web3.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { newWallet, submitSigned, type Wallet } from '../../devkit/localnet/wallet.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM } from '../../src/solana/tx/programs.ts';
import { openAlertsIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const delegate = newWallet();

beforeAll(async () => {
  await fixture.localnet.airdrop(delegate.address, 1_000_000_000n);
});

/** A mint whose permanent delegate is `delegate`. */
function mintOfDelegate(): Promise<string> {
  const initialize = (mint: PublicKey) =>
    createInitializePermanentDelegateInstruction(mint, delegate.publicKey, TOKEN_2022_PROGRAM_ID);
  return fixture.localnet.createToken22Mint({
    extensions: [{ type: ExtensionType.PermanentDelegate, initialize }],
  });
}

function list(asset: string) {
  const terms = { program: TOKEN_2022_PROGRAM, decimals: 6, minimumDeposit: 1n, depositsOn: true };
  const extensions = ['permanentDelegate'];
  return fixture.ledger.assets.put({ asset, ...terms, extensions, permanentDelegate: delegate.address });
}

/** A wallet of ours with a scanned deposit of a million base units of the mint. */
async function holder(mint: string, kind: 'hot' | 'deposit'): Promise<Wallet> {
  const wallet = newWallet();
  const { address } = wallet;
  await fixture.scanAll(fixture.scanner());
  if (kind === 'hot') await fixture.ledger.watched.addHot([address]);
  else await fixture.ledger.addresses.import([{ address, path: `m/${address}` }]);
  await fixture.localnet.mintTo(mint, address, 1_000_000n);
  await fixture.localnet.airdrop(address, 1_000_000_000n);
  await scanned();
  return wallet;
}

async function scanned(): Promise<void> {
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
}

/** `signer`, the owner or the permanent delegate, pays 400 base units to the delegate and burns 100. */
async function take(mint: string, { address }: Wallet, signer: Wallet): Promise<string> {
  await fixture.localnet.mintTo(mint, delegate.address, 1n);
  const [key, program] = [new PublicKey(mint), TOKEN_2022_PROGRAM_ID];
  const [from, to] = [address, delegate.address].map(
    (owner) => new PublicKey(deriveAta(owner, mint, TOKEN_2022_PROGRAM)),
  ) as [PublicKey, PublicKey];
  const signature = submitSigned(
    fixture.localnet.controls.chain,
    [
      createTransferCheckedInstruction(from, key, to, signer.publicKey, 400n, 6, [], program),
      createBurnInstruction(from, key, signer.publicKey, 100n, [], program),
    ],
    [signer],
  );
  await scanned();
  expect(fixture.localnet.controls.chain.ledger.record(signature)?.meta.err).toBeNull();
  return signature;
}

const seized = () => openAlertsIn(fixture, 'tokens_seized');
const accountOf = (mint: string, { address }: Wallet) => deriveAta(address, mint, TOKEN_2022_PROGRAM);

describe('a token outflow without the signature of its owner', () => {
  it.each(['hot', 'deposit'] as const)(
    'from a %s wallet raises an alert that names the signer',
    async (kind) => {
      const mint = await mintOfDelegate();
      await list(mint);
      const ours = await holder(mint, kind);
      const signature = await take(mint, ours, delegate);
      const account = accountOf(mint, ours);
      expect(await seized()).toContain(account);
      const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
      const alert = rows.find(({ subject }) => subject === account);
      expect(alert?.message).toContain(`the permanent delegate ${delegate.address} took 500 base units`);
      expect(alert?.details).toMatchObject({ signature, asset: mint, amount: '500', wallet: ours.address });

      await take(mint, ours, delegate);
      expect((await seized()).filter((one) => one === account)).toHaveLength(1);
      await fixture.ledger.alerts.acknowledge([alert?.position ?? 0n], {
        actor: 'test',
        reason: 'a court order',
      });
      expect(await seized()).not.toContain(account);
    },
  );

  it('raises no alert where the owner signed', async () => {
    const mint = await mintOfDelegate();
    await list(mint);
    const ours = await holder(mint, 'hot');
    await take(mint, ours, ours);
    expect(await seized()).not.toContain(accountOf(mint, ours));
  });

  it('of a token that is not listed raises an alert for a hot wallet, and none for a deposit address', async () => {
    const mint = await mintOfDelegate();
    const [hot, deposit] = [await holder(mint, 'hot'), await holder(mint, 'deposit')];
    await take(mint, hot, delegate);
    await take(mint, deposit, delegate);
    expect(await seized()).toContain(accountOf(mint, hot));
    expect(await seized()).not.toContain(accountOf(mint, deposit));
  });
});

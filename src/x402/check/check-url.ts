import { isLoopback } from '../../domain/cluster.ts';
import { messageOf } from '../../domain/errors.ts';
import { readAccounts } from '../../solana/rpc/agreed-accounts.ts';
import { getMinimumBalanceForRentExemption } from '../../solana/rpc/methods.ts';
import { SolanaNode } from '../../solana/rpc/node.ts';
import { probeGenesis } from '../../solana/rpc/probe.ts';
import { isUsdc, type Network, USDC_DECIMALS } from '../terms.ts';
import { askUrl } from './ask-url.ts';
import { chainFaults, type OnChain } from './chain-faults.ts';
import { formFaults } from './compare-forms.ts';
import type { Form, FormOffer, TermsFault } from './offer.ts';
import { read402 } from './read-402.ts';

/** Terms of one form, for display. */
export interface CheckedOffer extends Omit<FormOffer, 'network'> {
  readonly form: Form;
  /** CAIP-2. */
  readonly network: string;
  readonly cluster: Network['cluster'];
  /** Decimals of the mint; null if they are unknown. */
  readonly decimals: number | null;
}

export interface UrlReport {
  readonly url: string;
  /** True if a client can pay: there are terms, and no fault. */
  readonly ok: boolean;
  readonly offers: readonly CheckedOffer[];
  readonly faults: readonly TermsFault[];
  readonly notes: readonly string[];
  /** Whether accounts were read from a node. */
  readonly isChainChecked: boolean;
}

/** Requests the URL without a payment and checks the terms in its answer, with the accounts if there is a node. */
export async function checkUrl(url: string, method: string, rpcUrl: string | null): Promise<UrlReport> {
  const answer = await askUrl(url, method);
  if (typeof answer === 'string') {
    const faults = [{ place: 'request', expected: 'must get an answer', found: answer }];
    return { url, ok: false, offers: [], faults, notes: [], isChainChecked: false };
  }
  const { offers, faults: readFaults, notes } = read402(answer);
  const chain = rpcUrl === null || offers.length === 0 ? null : await readChain(offers, rpcUrl);
  const faults = [...readFaults, ...formFaults(offers), ...(chain?.faults ?? [])];
  return {
    url,
    ok: faults.length === 0,
    offers: offers.map((offer) => presented(offer, chain)),
    faults,
    notes: [...notes, ...(chain?.notes ?? [])],
    isChainChecked: chain?.isRead ?? false,
  };
}

interface AccountReading extends OnChain {
  readonly isRead: boolean;
  readonly notes: readonly string[];
}

/**
 * Reads the accounts of the offers on the node's chain. A local node has any genesis hash, because official clients
 * accept only the names of public networks.
 */
async function readChain(offers: readonly FormOffer[], rpcUrl: string): Promise<AccountReading> {
  const node = new SolanaNode(rpcUrl);
  try {
    const genesis = await probeGenesis(node);
    const isOn = ({ network }: FormOffer) =>
      isLoopback(rpcUrl) || network.caip2 === `solana:${genesis.slice(0, 32)}`;
    const here = offers.filter(isOn);
    const notes = offers
      .filter((offer) => !isOn(offer))
      .map(({ place }) => `${place} is for another network than ${node.name}: its accounts are not checked`);
    const read = async (addresses: readonly string[]) => {
      const answers = addresses.length === 0 ? new Map() : await readAccounts(node, addresses);
      return new Map([...answers].map(([address, { account }]) => [address, account]));
    };
    const found = await chainFaults(here, read, await getMinimumBalanceForRentExemption(node, 0));
    return { ...found, notes, isRead: here.length > 0 };
  } catch (error) {
    const faults = [
      { place: `node ${node.name}`, expected: 'must return the accounts', found: messageOf(error) },
    ];
    return { faults, notes: [], decimals: new Map(), isRead: false };
  } finally {
    await node.close();
  }
}

function presented({ network, ...offer }: FormOffer, chain: AccountReading | null): CheckedOffer {
  const decimals = chain?.decimals.get(offer.asset) ?? (isUsdc(offer.asset) ? USDC_DECIMALS : null);
  return { ...offer, network: network.caip2, cluster: network.cluster, decimals };
}

import { expect, it } from 'vitest';
import { rpc } from '../../src/localstack/rpc.ts';
import { newWallet } from '../support/stack.ts';
import { reaches, until } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack();
/** What a blockhash lives, and some blocks more. */
const LIFE_AND_MORE = 170;
/** More than the blocks after which what is unsigned is late. */
const LATE = 55;
/** More than may be late. */
const CROWD = 16;

const finalizedHeight = () => rpc<number>(use.chain.url, 'getBlockHeight', [{ commitment: 'finalized' }]);

it('a signer slower than the life of the blockhash leads to a proof of death and a new attempt: one payment', async () => {
  const { sluice, stack, chain } = use;
  const destination = newWallet();
  const terms = { id: 'slow-signer', asset: 'SOL', amount: '2000000', destination, acceptEmptyWallet: true };
  await stack.signer.stop();
  await sluice.withdraw(terms);
  const { attempts } = await reaches(sluice, terms.id, 'preparing');
  expect(attempts.map(({ state, signature }) => [state, signature])).toEqual([['prepared', null]]);
  const end = (await finalizedHeight()) + LIFE_AND_MORE;
  await until(async () => (await finalizedHeight()) > end);
  expect((await sluice.get(terms.id)).attempts).toHaveLength(1);

  await stack.signer.start();
  const paid = await sluice.waitForFinal(terms.id);
  expect(paid.status).toBe('finalized');
  expect(paid.attempts.map(({ state }) => state)).toEqual(['dead', 'landed']);
  const [first, second] = paid.attempts;
  expect(first?.signature).toEqual(expect.any(String));
  expect(first?.signature).not.toBe(second?.signature);
  expect((await chain.paymentsTo(destination)).map(({ signature }) => signature)).toEqual([
    second?.signature,
  ]);
}, 240_000);

it('what a slow signer cannot serve in time is not prepared: the crowd behind it is paid by one attempt each', async () => {
  const { sluice, stack } = use;
  const ask = async (name: string) => {
    const ids = Array.from({ length: CROWD }, (_, index) => `${name}-${index}`);
    const terms = { asset: 'SOL', amount: '2000000', acceptEmptyWallet: true };
    await Promise.all(ids.map((id) => sluice.withdraw({ id, ...terms, destination: newWallet() })));
    return ids;
  };
  const attemptsOf = async (ids: readonly string[]) =>
    (await Promise.all(ids.map((id) => sluice.get(id)))).map(({ attempts }) => attempts.length);
  await stack.signer.stop();
  const early = await ask('early');
  await until(async () => (await attemptsOf(early)).every((count) => count === 1));
  const later = (await finalizedHeight()) + LATE;
  await until(async () => (await finalizedHeight()) > later);
  // The first to come shows that the others are late; all that come after it wait.
  await sluice.withdraw({
    id: 'herald',
    asset: 'SOL',
    amount: '2000000',
    destination: newWallet(),
    acceptEmptyWallet: true,
  });
  await reaches(sluice, 'herald', 'preparing');
  const crowd = await ask('crowd');
  await reaches(sluice, 'crowd-0', 'held');
  expect((await sluice.get('crowd-0')).reason?.message).toContain('wait for their signature');
  expect(new Set(await attemptsOf(crowd))).toEqual(new Set([0]));

  await stack.signer.start();
  for (const id of [...early, ...crowd]) expect((await sluice.waitForFinal(id)).status).toBe('finalized');
  expect(new Set(await attemptsOf(crowd))).toEqual(new Set([1]));
}, 240_000);

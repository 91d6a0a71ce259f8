import type { Ledger } from '../../ledger/ledger.ts';
import type { AccessPass } from '../../ledger/x402/access-passes.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import type { PricedRoute } from '../routes/route.ts';
import { INVALID_PASS, judgePass, type PassRefusal } from './judge.ts';
import type { PassKeys } from './keys.ts';
import { presentedPass } from './presented.ts';
import { readSignIn, SIGN_IN, type SignInPlace, signInChallenge } from './sign-in.ts';
import { PassTokens } from './token.ts';

interface PassesDeps {
  readonly accessPasses: Pick<Ledger['accessPasses'], 'find' | 'findValid' | 'issue'>;
  readonly passKeys: PassKeys;
  /** The first secret signs challenges; a challenge is valid under any of them. */
  readonly quoteSecrets: readonly [string, ...string[]];
  readonly publicUrl: string;
  /** CAIP-2 id of the network. */
  readonly network: string;
}

/** A request for a priced route. */
export interface PassRequest {
  readonly route: Pick<PricedRoute, 'id' | 'accessPass'>;
  /** Path of the request, without its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** A pass with its token. */
export interface IssuedPass {
  readonly token: string;
  readonly expiresAt: Date;
}

/** The right of a request to be served without a payment. `issued`: the pass of a wallet that signed in, else null. */
export type Access =
  | ({ readonly kind: 'refused' } & PassRefusal)
  | { readonly kind: 'granted'; readonly pass: AccessPass; readonly issued: IssuedPass | null };

/** A revocation, or a payment that is no longer on chain, has its effect after this time at the latest. */
const CACHE_MS = 1_000;
const MAX_CACHED = 10_000;

/** Access passes of routes with `accessPass`. docs/decisions/0026-access-passes.md. */
export class Passes {
  readonly #deps: PassesDeps;
  readonly #tokens: PassTokens;
  readonly #stored = new TtlCache<AccessPass | null>(CACHE_MS, MAX_CACHED);

  constructor(deps: PassesDeps) {
    this.#deps = deps;
    this.#tokens = new PassTokens(deps.passKeys, deps.publicUrl);
  }

  /** The pass of a served payment; null if the route has none, or if it has ended, is revoked or is not paid. */
  async issue(request: Omit<PassRequest, 'headers'>, paymentId: string): Promise<IssuedPass | null> {
    const { route, path } = request;
    if (route.accessPass === null) return null;
    const pass = await this.#deps.accessPasses.issue(paymentId, path, route.accessPass.seconds);
    if (pass === null || judgePass(claimsOf(pass), { route: route.id, path }, pass, Date.now()) !== null)
      return null;
    return this.#withToken(pass);
  }

  /** True if the request presents a pass or signs in, and its route has passes. Verifies nothing. */
  isClaimed({ route, headers }: PassRequest): boolean {
    return route.accessPass !== null && (presentedPass(headers) !== null || headers[SIGN_IN] !== undefined);
  }

  /** Verifies the pass of a request; if it has none, or a refused one, its sign-in. */
  async accessOf(request: PassRequest): Promise<Access> {
    const token = presentedPass(request.headers);
    const byPass = token === null ? null : await this.#accessByPass(request, token);
    if (byPass?.kind === 'granted' || request.headers[SIGN_IN] === undefined)
      return byPass ?? { kind: 'refused', ...INVALID_PASS };
    return this.#accessBySignIn(request);
  }

  /** Id of the payment whose pass the request presents, also after the end of the pass. Null if none, or revoked. */
  async paymentOf({ route, headers }: PassRequest): Promise<string | null> {
    const token = route.accessPass === null ? null : presentedPass(headers);
    const claims = token === null ? null : await this.#tokens.read(token);
    if (claims === null) return null;
    const stored = await this.#find(claims.paymentId);
    return stored === null || stored.isRevoked ? null : claims.paymentId;
  }

  /** The extensions of a 402 by which a wallet that has paid can sign in. */
  challengeOf(request: PassRequest): Readonly<Record<string, object>> {
    if (request.route.accessPass === null) return {};
    const [secret] = this.#deps.quoteSecrets;
    return { [SIGN_IN]: signInChallenge(secret, this.#placeOf(request), Date.now()) };
  }

  async #accessByPass({ route, path }: PassRequest, token: string): Promise<Access> {
    const claims = await this.#tokens.read(token);
    if (claims === null) return { kind: 'refused', ...INVALID_PASS };
    const stored = await this.#find(claims.paymentId);
    const refusal = judgePass(claims, { route: route.id, path }, stored, Date.now());
    if (refusal !== null || stored === null) return { kind: 'refused', ...(refusal ?? INVALID_PASS) };
    return { kind: 'granted', pass: stored, issued: null };
  }

  async #accessBySignIn(request: PassRequest): Promise<Access> {
    const { route, path, headers } = request;
    const { quoteSecrets, accessPasses } = this.#deps;
    const signedIn = readSignIn(quoteSecrets, this.#placeOf(request), headers[SIGN_IN], Date.now());
    if (!('wallet' in signedIn)) return { kind: 'refused', ...signedIn };
    const pass = await accessPasses.findValid(signedIn.wallet, route.id, path);
    if (pass !== null) return { kind: 'granted', pass, issued: await this.#withToken(pass) };
    const details = `the wallet ${signedIn.wallet} has no access pass for this resource`;
    return { kind: 'refused', error: 'sign_in_without_payment', details };
  }

  async #withToken(pass: AccessPass): Promise<IssuedPass> {
    return { token: await this.#tokens.write(pass), expiresAt: pass.expiresAt };
  }

  #find(paymentId: string): Promise<AccessPass | null> {
    return this.#stored.get(paymentId, () => this.#deps.accessPasses.find(paymentId));
  }

  #placeOf({ route, path }: Omit<PassRequest, 'headers'>): SignInPlace {
    const { publicUrl, network } = this.#deps;
    return { publicUrl, route: route.id, path, network };
  }
}

function claimsOf({ payment, path, expiresAt }: AccessPass) {
  const { id: paymentId, payer, route } = payment;
  return { paymentId, payer, route, path, expiresAtMs: expiresAt.getTime() };
}

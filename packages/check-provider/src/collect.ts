import { createHash, randomBytes } from 'node:crypto';
import { codeOf, type Spelling } from './sign-in/arrival.js';
import type { Options } from './arguments.js';
import { CannotRun } from './cannot-run.js';
import type { Evidence, Exchanges } from './evidence.js';
import { exchange, isMissing, type ExchangeForm } from './exchange.js';
import type { Person } from './sign-in/person.js';
import { describe, errorOf, isAnswer, isSuccess, type Reply } from './reply.js';
import { hexState, isWilling, SignIns, type Pkce } from './sign-in/sign-ins.js';

/** Sign-ins that `collect` needs, unless the provider drops codes; one less if it keeps codes after a wrong verifier. */
export function plannedSignIns({ slow }: Pick<Options, 'slow'>): number {
  return slow ? 5 : 4;
}

// Characters that wrong or missing percent-encoding would change.
const ODD_STATE = '1&2=3%34+5 \u00e9\u2713';
// Spec §4.5.2: 10 minutes or less, and a few seconds for clocks.
const EXPIRED = 610_000;

/**
 * Collects the evidence for the rules, without a verdict.
 * @param sleep waits for milliseconds; only with `--slow`
 * @throws CannotRun when the provider cannot be reached, or a person does not sign in
 */
export async function collect(
  options: Options,
  person: Person,
  sleep: (ms: number) => Promise<unknown>,
): Promise<Evidence> {
  const { providerUrl, clientId, clientSecret, slow } = options;
  const { redirectUri } = person;
  const signIns = new SignIns(options, person);
  const right = { client_id: clientId, client_secret: clientSecret, redirect_uri: redirectUri };
  const send = (code: string | undefined, changes: Partial<ExchangeForm> = {}): Promise<Reply> =>
    exchange(providerUrl, { ...right, code, ...changes });
  const other = (): string => `check-provider-${randomBytes(16).toString('hex')}`;

  const landing = await signIns.look(hexState(), redirectUri);
  if (landing.kind === 'none' && landing.away) {
    throw new CannotRun(`the provider cannot be reached: ${landing.problem}`);
  }
  const arrival = await signIns.signIn(hexState(), redirectUri);
  const code = arrival && codeOf(arrival);
  const exchanges: Exchanges = {};
  const evidence = {
    providerUrl,
    redirectUri,
    landing,
    arrival,
    exchanges,
    // Read when the evidence is complete.
    get codes() {
      return signIns.codes;
    },
    get misread() {
      return signIns.misread;
    },
  };
  if (code !== undefined) {
    const spellings: readonly Spelling[] = ['percent', 'form', 'raw'];
    const tried = new Set<string>();
    for (const spelling of spellings) {
      const spelled = codeOf(arrival!, spelling)!;
      if (tried.has(spelled)) continue;
      tried.add(spelled);
      const reply = await send(spelled);
      exchanges.first ??= reply;
      if (isMissing(reply)) return { ...evidence, odd: undefined };
      if (!isSuccess(reply)) continue;
      signIns.spelling = spelling;
      exchanges.first = reply;
      exchanges.again = await send(spelled);
      break;
    }
  }
  exchanges.unknownCode = await send(other());
  if (code === undefined && isMissing(exchanges.unknownCode)) return { ...evidence, odd: undefined };
  exchanges.withoutCode = await send(undefined);
  if (code === undefined) return { ...evidence, odd: undefined };

  const pkce = await pkceOf(signIns, redirectUri, exchanges.unknownCode, (verifier) =>
    send(other(), { code_verifier: verifier }),
  );
  const live = new LiveCode(() => signIns.code(pkce?.parameters));
  const attempt = (changes: Partial<ExchangeForm>): Promise<Reply> =>
    live.attempt((fresh) => send(fresh, { code_verifier: pkce?.verifier, ...changes }));
  if (pkce) exchanges.wrongVerifier = await attempt({ code_verifier: makeVerifier() });
  exchanges.withoutClientSecret = await attempt({ client_secret: undefined });
  exchanges.withoutClientId = await attempt({ client_id: undefined });
  exchanges.wrongSecret = await attempt({ client_secret: other() });
  exchanges.unknownClient = await attempt({ client_id: other() });
  exchanges.withoutRedirectUri = await attempt({ redirect_uri: undefined });
  exchanges.second = await attempt({});

  const odd = await oddSignIn(signIns, redirectUri);
  const oddCode = odd.arrival && codeOf(odd.arrival, signIns.spelling);
  if (oddCode !== undefined) {
    exchanges.otherRedirectUri = await send(oddCode, { redirect_uri: `${redirectUri}/elsewhere` });
  }
  if (slow) {
    const late = await signIns.code();
    await sleep(EXPIRED);
    exchanges.late = await send(late);
  }
  return { ...evidence, odd };
}

/** One sign-in with an odd state and a redirect URI with a query: not required, so only those that the page accepts. */
async function oddSignIn(signIns: SignIns, redirectUri: string): Promise<NonNullable<Evidence['odd']>> {
  const withQuery = `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}keep=1`;
  const state = isWilling(await signIns.look(ODD_STATE, redirectUri));
  const query = isWilling(await signIns.look(hexState(), withQuery));
  const arrival = await signIns.signIn(state ? ODD_STATE : hexState(), query ? withQuery : redirectUri);
  return { state, query, ...(arrival && { arrival }) };
}

function makeVerifier(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * A challenge for the sign-ins after the first, which has only the parameters of the specification. Providers may ignore PKCE.
 * @param redeem sends an unknown code with a verifier
 * @returns undefined if page or exchange refuse the parameters of RFC 7636
 */
async function pkceOf(
  signIns: SignIns,
  redirectUri: string,
  unknownCode: Reply,
  redeem: (verifier: string) => Promise<Reply>,
): Promise<{ readonly verifier: string; readonly parameters: Pkce } | undefined> {
  const verifier = makeVerifier();
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');
  const parameters = { code_challenge, code_challenge_method: 'S256' };
  if (!isWilling(await signIns.look(hexState(), redirectUri, parameters))) return undefined;
  return describe(await redeem(verifier)) === describe(unknownCode) ? { verifier, parameters } : undefined;
}

/**
 * One code for several attempts that must fail, so that a person need not sign in for each. A provider may drop a code
 * after a failed attempt: so an `invalid_grant` for a code that was sent before proves nothing, and the attempt is repeated
 * with a fresh code.
 */
class LiveCode {
  private code: string | undefined;
  private shown = false;

  /** @param fresh gets a code by one more sign-in */
  constructor(private readonly fresh: () => Promise<string>) {}

  /** The reply to an attempt; if it is refused, that is not because its code was used before. */
  async attempt(send: (code: string) => Promise<Reply>): Promise<Reply> {
    const wasShown = this.shown;
    const reply = await this.show(send);
    const isDropped = isAnswer(reply) && errorOf(reply) === 'invalid_grant';
    if (!(wasShown && isDropped)) return reply;
    this.drop();
    return this.show(send);
  }

  private async show(send: (code: string) => Promise<Reply>): Promise<Reply> {
    this.code ??= await this.fresh();
    this.shown = true;
    const reply = await send(this.code);
    if (isSuccess(reply)) this.drop();
    return reply;
  }

  private drop(): void {
    this.code = undefined;
    this.shown = false;
  }
}

import type { Arrival } from './sign-in/arrival.js';
import type { Landing } from './sign-in/landing.js';
import { isAnswer, isSuccess, type Answer, type Reply } from './reply.js';

/** What the provider did. A member is undefined if an earlier step failed. */
export interface Evidence {
  readonly providerUrl: string;
  readonly redirectUri: string;
  /** The authorization page, opened without a sign-in. */
  readonly landing: Landing;
  /** The first sign-in, with a state and a redirect URI as the service sends them. */
  readonly arrival: Arrival | undefined;
  /** Whether the page accepts a state that is not hex and a redirect URI with a query; and a sign-in with the accepted ones. */
  readonly odd: { readonly state: boolean; readonly query: boolean; readonly arrival?: Arrival } | undefined;
  readonly exchanges: Exchanges;
  /** Every code that was issued. */
  readonly codes: readonly string[];
  /** A character of a code that the redirect does not encode, so that clients read another code. */
  readonly misread: string | undefined;
}

/** Replies of the exchange endpoint (spec §4.5.2), by what was sent to it. */
export interface Exchanges {
  /** A correct exchange of the first sign-in's code. */
  first?: Reply;
  /** The first exchange, repeated. */
  again?: Reply;
  /** A correct exchange of a later sign-in's code. */
  second?: Reply;
  unknownCode?: Reply;
  wrongSecret?: Reply;
  unknownClient?: Reply;
  withoutCode?: Reply;
  withoutClientId?: Reply;
  withoutClientSecret?: Reply;
  withoutRedirectUri?: Reply;
  otherRedirectUri?: Reply;
  /** With another verifier than that of the code's challenge; undefined if the provider refuses PKCE's parameters. */
  wrongVerifier?: Reply;
  /** With a code that is more than ten minutes old. */
  late?: Reply;
}

/** Refusals of the exchange, each with a description of the request. */
export function refusals({ exchanges }: Evidence): { readonly sent: string; readonly answer: Answer }[] {
  const sent: [string, Reply | undefined][] = [
    ['a used code', exchanges.again],
    ['an unknown code', exchanges.unknownCode],
    ['a wrong secret', exchanges.wrongSecret],
    ['an unknown client', exchanges.unknownClient],
    ['no code', exchanges.withoutCode],
    ['no client_id', exchanges.withoutClientId],
    ['no client_secret', exchanges.withoutClientSecret],
    ['no redirect_uri', exchanges.withoutRedirectUri],
    ['another redirect_uri', exchanges.otherRedirectUri],
    ['a wrong verifier', exchanges.wrongVerifier],
    ['an old code', exchanges.late],
  ];
  return sent.flatMap(([what, reply]) => {
    return reply && isAnswer(reply) && !isSuccess(reply) ? [{ sent: what, answer: reply }] : [];
  });
}

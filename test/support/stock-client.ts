import { createHash, randomBytes, randomUUID } from 'node:crypto';
import request from 'supertest';

export const REDIRECT_URI = 'https://app.example/cb';

/** A stock OAuth client by hand: authorization code with PKCE, `state` and `iss`, as RFC 6749, 7636 and 9207 have it. */
export class StockClient {
  readonly verifier = randomBytes(32).toString('base64url');
  readonly state: string;

  constructor(
    readonly redirectUri = REDIRECT_URI,
    readonly id = 'a stock client',
  ) {
    this.state = `state of ${randomUUID()} & more=+%20`;
  }

  /** Its authorization request. @param more replaces or joins parameters; undefined takes one out */
  authorizationRequest(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    const challenge = createHash('sha256').update(this.verifier).digest('base64url');
    return withoutUndefined({
      response_type: 'code',
      client_id: this.id,
      redirect_uri: this.redirectUri,
      scope: 'anything',
      state: this.state,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...more,
    });
  }

  /** Its token request. */
  tokenRequest(code: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    return withoutUndefined({
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.redirectUri,
      client_id: this.id,
      code_verifier: this.verifier,
      ...more,
    });
  }

  authorize(url: string, more?: Readonly<Record<string, unknown>>): request.Test {
    return request(url).get('/oauth2/authorize').query(this.authorizationRequest(more));
  }

  token(url: string, code: string, more?: Readonly<Record<string, unknown>>): request.Test {
    return request(url).post('/oauth2/token').type('form').send(this.tokenRequest(code, more));
  }

  /**
   * The whole way of the browser with a provider that a stub is: to the provider, to our callback and back to the client.
   * @param code of the provider, which is the user's id there
   * @param callbackAt another instance that the callback goes to
   * @returns the code for the client
   */
  async codeFrom(url: string, { provider = 'stub', code = '', callbackAt = url } = {}): Promise<string> {
    const begun = await this.authorize(url, { provider }).expect(302);
    const back = await returnWith(callbackAt, begun, { code: code || randomUUID() }).expect(302);
    return answerIn(back)['code']!;
  }
}

/** What the redirect of an answer has in its query. */
export function answerIn(response: request.Response): Record<string, string> {
  return Object.fromEntries(new URL(response.headers['location']!).searchParams);
}

/** The provider sends the browser back to our callback, at some instance. @param begun our redirect to the provider */
export function returnWith(
  url: string,
  begun: request.Response,
  answer: Readonly<Record<string, string>>,
): request.Test {
  const { redirect_uri: callback, state } = answerIn(begun);
  return request(url)
    .get(new URL(callback!).pathname)
    .query({ state, ...answer });
}

function withoutUndefined(parameters: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined));
}

import { Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { percentDecoded, readBasic } from '../../http/basic-credentials.js';
import { DpopProofs, type DpopCall } from '../../token/dpop/dpop-proofs.js';
import { TokenIssuer } from '../sign-in/token-issuer.js';
import { AuthorizationCodes, type CodeBinding } from './authorization-codes.js';
import { challengeOf } from '../../provider/adapters/authorization-request.js';
import { otherRedirectUri } from '../auth.service.js';
import { SignInRefusals } from '../sign-in/sign-in-refusals.js';
import type { ClientTokenDto, IssuedTokens } from '../token.dto.js';

/** The end of a sign-in for a stock OAuth client (RFC 6749 §4.1.3; contract §4). */
@Injectable()
export class ClientExchange {
  constructor(
    private readonly codes: AuthorizationCodes,
    private readonly proofs: DpopProofs,
    private readonly tokens: TokenIssuer,
    private readonly refusals: SignInRefusals,
  ) {}

  /**
   * Redeems a code. Headers are validated first, so that a fault in them spends no code (contract §3).
   * @throws OAuthError `invalid_grant`; the code is spent, since it may have been stolen
   */
  exchange(
    params: ClientTokenDto,
    call: DpopCall,
    origin: Origin,
    authorization?: string,
  ): Promise<IssuedTokens> {
    return this.refusals.report(origin, async (attempt) => {
      const named = basicClientId(authorization);
      const proof = await this.proofs.validate(call);
      const redeemed = await this.codes.redeem(params.code);
      attempt.provider = redeemed.provider;
      checkBinding(redeemed, params, named);
      return this.tokens.issue(redeemed, params, { proof, origin, attempt });
    });
  }
}

/** @param named client id in `Authorization`, which must agree with `client_id` */
function checkBinding(
  bound: CodeBinding,
  params: ClientTokenDto,
  named: readonly string[] | undefined,
): void {
  const isNamed = params.client_id === undefined || params.client_id === bound.clientId;
  if (!isNamed || named?.includes(bound.clientId) === false) {
    throw new OAuthError('invalid_grant', 'the code was issued to another client');
  }
  if (params.redirect_uri !== bound.redirectUri) throw otherRedirectUri(params.redirect_uri);
  if (challengeOf(params.code_verifier) !== bound.codeChallenge) {
    throw new OAuthError('invalid_grant', 'code_verifier is wrong');
  }
}

/**
 * Reads the client id in `Authorization: Basic` (RFC 6749 §2.3.1); clients have no secrets here, so the password is ignored.
 * @returns as it was sent, since not every client encodes it, and decoded as a form
 * @throws OAuthError `invalid_request` if the header cannot be read
 */
function basicClientId(authorization = ''): readonly string[] | undefined {
  if (!/^basic(?: |$)/i.test(authorization)) return undefined;
  const credentials = readBasic(authorization);
  if (!credentials) throw new OAuthError('invalid_request', 'the Authorization header is malformed');
  const { userName } = credentials;
  return userName === '' ? undefined : [userName, percentDecoded(userName.replaceAll('+', ' '))];
}

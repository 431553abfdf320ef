import type { ErrorCode } from '../../../src/platform/errors/oauth-error.js';
import type { ProviderCode } from '../../../src/provider/errors/callback-codes.js';
import type { ErrorText } from '../feature.js';
import { textsOf } from '../features.js';

/** Codes that no sign-in and no refresh records. */
type OfOtherCalls =
  | 'invalid_token'
  | 'not_found'
  | 'method_not_allowed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'authorization_pending'
  | 'identity_in_use';
/** Codes of a provider's callback that the service does not have (RFC 6749 §4.1.2.1). */
type OfCallbacks =
  | 'cancelled'
  | 'unknown'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_response_type';

const OUR_FAULT = 'The mistake is on our side. Another try does not help; we will tell you once it works.';
const TRY_LATER = 'Please try again in a few minutes. We look at it if it lasts.';
const WITHOUT_PAGE: ErrorText = {
  means: 'The application asked for a sign-in without a page, and the provider needs to show one.',
  say: 'Please press Sign in in the application, and follow the pages of your provider.',
};
const SETTING_AT_PROVIDER: ErrorText = {
  means:
    'The identity provider refuses the settings of this service. It concerns everyone with this provider.',
  say: OUR_FAULT,
};

/** Errors of refused sign-ins and refreshes (docs/errors.md, docs/support.md#which-sign-ins-failed-and-why). */
const TEXTS: Readonly<Record<string, ErrorText>> = {
  access_denied: {
    means:
      'The provider, or a rule of this service, does not let the account in. The reason is in each event.',
    say: 'This account may not sign in here. Do you have another one, for example of your company?',
  },
  cancelled: {
    means: 'The person closed the sign-in before its end.',
    say: 'Please begin again and finish the sign-in. What did the last page show?',
  },
  invalid_grant: {
    means: 'The sign-in was used before, took longer than ten minutes, or belongs to another tab.',
    say: 'Please close other tabs of the application, open its first page and sign in again.',
  },
  invalid_dpop_proof: {
    means: 'The browser’s proof was late, used before or of another key: a wrong clock, or a stolen token.',
    say: 'Please set date and time of the device to automatic, then reload the page.',
  },
  invalid_request: {
    means: 'The application sent a wrong request, often with an address that is not in REDIRECT_URIS.',
    say: OUR_FAULT,
  },
  invalid_client: {
    means: 'The identity provider refuses the secret of this service: it may have expired.',
    say: OUR_FAULT,
  },
  server_error: {
    means: 'The identity provider or the database did not answer, or the answer was unusable.',
    say: TRY_LATER,
  },
  temporarily_unavailable: {
    means: 'The identity provider says that it is overloaded or under maintenance.',
    say: TRY_LATER,
  },
  slow_down: {
    means: 'The user has too many sessions (10,000) or devices (2,000).',
    say: 'Some program signs in with your account again and again. Shall I sign you out everywhere?',
  },
  expired_token: {
    means: 'Nobody approved the request of the device in time.',
    say: 'Please begin again on the device, and enter the new code within ten minutes.',
  },
  insufficient_user_authentication: {
    means: 'The step needs a sign-in that is more recent, or stronger.',
    say: 'Please sign in again, with the second factor if your provider asks for it.',
  },
  insufficient_scope: {
    means: 'A service key, or a user, has not the right that the call needs.',
    say: 'Your account lacks a right. I pass it on to an administrator.',
  },
  unsupported_grant_type: {
    means: 'The application asks for tokens in a way that this service does not have.',
    say: OUR_FAULT,
  },
  invalid_target: {
    means: 'A program asked for an API that this service does not know, or an application for any API.',
    say: OUR_FAULT,
  },
  unknown: {
    means: 'The identity provider ended the sign-in without a code.',
    say: 'Please try again, and tell me what the page of your provider shows.',
  },
  login_required: WITHOUT_PAGE,
  interaction_required: WITHOUT_PAGE,
  consent_required: WITHOUT_PAGE,
  account_selection_required: WITHOUT_PAGE,
  invalid_scope: SETTING_AT_PROVIDER,
  unauthorized_client: SETTING_AT_PROVIDER,
  unsupported_response_type: SETTING_AT_PROVIDER,
} satisfies Record<Exclude<ErrorCode, OfOtherCalls> | ProviderCode | OfCallbacks, ErrorText>;

const OF_PROVIDER: ErrorText = {
  means: 'The identity provider ended the sign-in with this code of its own.',
  say: 'Please try again, and tell me what the page of your provider shows.',
};

const SESSION_OVER: ErrorText = {
  means: 'The session is over: it has expired, or it was signed out.',
  say: 'Please sign in again.',
};

const NOT_ON_LIST: ErrorText = {
  means: 'The account does not fulfil a condition of the provider’s setting “allow”.',
  say: 'This account may not sign in here. Do you have another one, for example of your company?',
};

/** Reasons of `access_denied` (docs/guides/access-policy.md#a-refused-account). */
const REASONS: Readonly<Record<string, ErrorText>> = {
  suspended: {
    means: 'An administrator has suspended the user.',
    say: 'Your account is suspended. I cannot tell why; I pass your call on to an administrator.',
  },
  session_expiry: {
    means: 'The session at the identity provider had ended already.',
    say: 'Please sign out at your provider, then sign in here again.',
  },
  email_domain: {
    means: 'The e-mail address is of another domain than “allow” demands, or not verified at the provider.',
    say: 'Please use the account with your company’s address. If you did: is the address verified there?',
  },
  email: {
    means: 'The e-mail address is not one of those in “allow”, or not verified at the provider.',
    say: 'Please use the account with the address that was invited. Is the address verified there?',
  },
  claim: {
    means: 'The account lacks a group or another claim that “allow” demands.',
    say: 'Your account lacks a group. Please ask your own IT for it, then sign in again.',
  },
  user_id: NOT_ON_LIST,
  everyone: NOT_ON_LIST,
  ...textsOf('reasons'),
};

/** Codes with a text, for a list to choose from. */
export const ERROR_CODES: readonly string[] = Object.keys(TEXTS);

/** Explains an error of a sign-in or a refresh; of many events, without an event and a reason. */
export function explain(error: string, event?: string, reason = ''): ErrorText {
  if (event === 'refresh_refused' && error === 'invalid_grant') return SESSION_OVER;
  if (error === 'access_denied') {
    const kind = reason.split(':')[0]!;
    if (Object.hasOwn(REASONS, kind)) return REASONS[kind]!;
  }
  return Object.hasOwn(TEXTS, error) ? TEXTS[error]! : OF_PROVIDER;
}

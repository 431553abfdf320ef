import type { Rule } from './rule.js';
import { authorizationPage } from './rules/authorization-page/authorization-page.js';
import { pageContentType } from './rules/authorization-page/page-content-type.js';
import { frameOptionsDeny } from './rules/authorization-page/frame-options-deny.js';
import { frameAncestors } from './rules/authorization-page/frame-ancestors.js';
import { redirectStatus } from './rules/redirect/redirect-status.js';
import { redirectForm } from './rules/redirect/redirect-form.js';
import { stateEcho } from './rules/redirect/state-echo.js';
import { exchangeEndpoint } from './rules/exchange/exchange-endpoint.js';
import { exchangeSuccess } from './rules/exchange/exchange-success.js';
import { userId } from './rules/identity/user-id.js';
import { userIdStable } from './rules/identity/user-id-stable.js';
import { optionalFields } from './rules/identity/optional-fields.js';
import { codeSingleUse } from './rules/code/code-single-use.js';
import { unknownCode } from './rules/code/unknown-code.js';
import { codeBoundToClient } from './rules/code/code-bound-to-client.js';
import { unknownClient } from './rules/errors/unknown-client.js';
import { wrongSecret } from './rules/errors/wrong-secret.js';
import { missingParameters } from './rules/errors/missing-parameters.js';
import { errorBody } from './rules/errors/error-body.js';
import { errorStatus } from './rules/errors/error-status.js';
import { frameOptionsOther } from './rules/authorization-page/frame-options-other.js';
import { stateAnyText } from './rules/redirect/state-any-text.js';
import { redirectQuery } from './rules/redirect/redirect-query.js';
import { redirectUriRequired } from './rules/exchange/redirect-uri-required.js';
import { codeBoundToRedirectUri } from './rules/code/code-bound-to-redirect-uri.js';
import { codeExpiry } from './rules/code/code-expiry.js';
import { codeStrength } from './rules/code/code-strength.js';
import { identityLimits } from './rules/identity/identity-limits.js';
import { jsonContentType } from './rules/exchange/json-content-type.js';
import { noStore } from './rules/exchange/no-store.js';
import { https } from './rules/https.js';

/** All rules, in the order of the report: what the specification requires, then advice. */
export const RULES: readonly Rule[] = [
  authorizationPage,
  pageContentType,
  frameOptionsDeny,
  frameAncestors,
  redirectStatus,
  redirectForm,
  stateEcho,
  exchangeEndpoint,
  exchangeSuccess,
  userId,
  userIdStable,
  optionalFields,
  codeSingleUse,
  unknownCode,
  codeBoundToClient,
  unknownClient,
  wrongSecret,
  missingParameters,
  errorBody,
  errorStatus,
  frameOptionsOther,
  stateAnyText,
  redirectQuery,
  redirectUriRequired,
  codeBoundToRedirectUri,
  codeExpiry,
  codeStrength,
  identityLimits,
  jsonContentType,
  noStore,
  https,
];

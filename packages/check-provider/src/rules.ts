import type { Rule } from './rule.js';
import { authorizationPage } from './rules/authorization-page.js';
import { pageContentType } from './rules/page-content-type.js';
import { frameOptionsDeny } from './rules/frame-options-deny.js';
import { frameAncestors } from './rules/frame-ancestors.js';
import { redirectStatus } from './rules/redirect-status.js';
import { redirectForm } from './rules/redirect-form.js';
import { stateEcho } from './rules/state-echo.js';
import { exchangeEndpoint } from './rules/exchange-endpoint.js';
import { exchangeSuccess } from './rules/exchange-success.js';
import { userId } from './rules/user-id.js';
import { userIdStable } from './rules/user-id-stable.js';
import { optionalFields } from './rules/optional-fields.js';
import { codeSingleUse } from './rules/code-single-use.js';
import { unknownCode } from './rules/unknown-code.js';
import { codeBoundToClient } from './rules/code-bound-to-client.js';
import { unknownClient } from './rules/unknown-client.js';
import { wrongSecret } from './rules/wrong-secret.js';
import { missingParameters } from './rules/missing-parameters.js';
import { errorBody } from './rules/error-body.js';
import { errorStatus } from './rules/error-status.js';
import { frameOptionsOther } from './rules/frame-options-other.js';
import { stateAnyText } from './rules/state-any-text.js';
import { redirectQuery } from './rules/redirect-query.js';
import { redirectUriRequired } from './rules/redirect-uri-required.js';
import { codeBoundToRedirectUri } from './rules/code-bound-to-redirect-uri.js';
import { codeExpiry } from './rules/code-expiry.js';
import { codeStrength } from './rules/code-strength.js';
import { identityLimits } from './rules/identity-limits.js';
import { jsonContentType } from './rules/json-content-type.js';
import { noStore } from './rules/no-store.js';
import { https } from './rules/https.js';

/** All rules, in the order of the report: what the specification demands, then advice. */
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

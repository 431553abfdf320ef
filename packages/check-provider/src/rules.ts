import type { Rule } from './rule.js';
import {
  authorizationPage,
  pageContentType,
  frameOptionsDeny,
  frameAncestors,
  frameOptionsOther,
} from './rules/authorization-page.js';
import { redirectStatus, redirectForm, stateEcho, stateAnyText, redirectQuery } from './rules/redirect.js';
import {
  exchangeEndpoint,
  exchangeSuccess,
  redirectUriRequired,
  jsonContentType,
  noStore,
} from './rules/exchange.js';
import { userId, userIdStable, optionalFields, identityLimits } from './rules/identity.js';
import {
  codeSingleUse,
  unknownCode,
  codeBoundToClient,
  codeBoundToRedirectUri,
  codeBoundToVerifier,
  codeExpiry,
  codeStrength,
} from './rules/code.js';
import { unknownClient, wrongSecret, missingParameters, errorBody, errorStatus } from './rules/errors.js';
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
  codeBoundToVerifier,
  codeExpiry,
  codeStrength,
  identityLimits,
  jsonContentType,
  noStore,
  https,
];

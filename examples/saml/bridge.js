import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { SAML } from '@node-saml/node-saml';
import express from 'express';

const { CLIENT_ID = 'latchkey', REDIRECT_URIS = '', PORT = '4100' } = process.env;
const {
  ID_ATTRIBUTE,
  NAME_ATTRIBUTE = 'name',
  EMAIL_ATTRIBUTE = 'email',
  GROUPS_ATTRIBUTE = 'groups',
} = process.env;
const required = ['PUBLIC_URL', 'CLIENT_SECRET', 'IDP_URL', 'IDP_ENTITY_ID', 'IDP_CERT'];
const [PUBLIC_URL, CLIENT_SECRET, IDP_URL, IDP_ENTITY_ID, IDP_CERT] = required.map((name) => {
  if (!process.env[name]) throw new Error(`${name} is not set`);
  return process.env[name];
});
const { ENTITY_ID = `${PUBLIC_URL}/metadata`, SP_KEY, SP_CERT } = process.env;
if (SP_KEY && !SP_CERT) throw new Error('SP_KEY needs SP_CERT');
const ACS = `${PUBLIC_URL}/acs`;
const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const SIGN_IN_MS = 600_000;

/** Values that are taken once, within a time. Beyond 10,000 the oldest goes. In memory, so there is one process. */
class Once {
  #entries = new Map();
  constructor(ms) {
    this.ms = ms;
  }
  put(key, value) {
    if (this.#entries.size >= 10_000) this.#entries.delete(this.#entries.keys().next().value);
    this.#entries.set(key, { value, until: Date.now() + this.ms });
  }
  take(key) {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    return entry && Date.now() < entry.until ? entry.value : undefined;
  }
}
const requests = new Once(SIGN_IN_MS); // what Latchkey asked for, by the id of the request to the identity provider
const codes = new Once(60_000);

const hash = (text) => createHash('sha256').update(text).digest();
const isSame = (a, b) => timingSafeEqual(hash(a), hash(b));
const isText = (value) => typeof value === 'string' && value !== '';
const anyPort = (uri) => uri.replace(/^(http:\/\/127\.0\.0\.1):\d+/, '$1'); // RFC 8252 §7.3

/** Knows one request, so that the answer to another is refused. */
const samlOf = (id, at = new Date().toISOString()) =>
  new SAML({
    issuer: ENTITY_ID,
    callbackUrl: ACS,
    entryPoint: IDP_URL,
    idpCert: IDP_CERT.split(','), // two while the identity provider changes its key
    ...(SP_KEY && { privateKey: SP_KEY, publicCert: SP_CERT, signatureAlgorithm: 'sha256' }),
    identifierFormat: PERSISTENT,
    disableRequestedAuthnContext: true, // the identity provider decides how it asks
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: false, // only what the assertion says is read
    acceptedClockSkewMs: 5_000,
    maxAssertionAgeMs: 300_000,
    validateInResponseTo: 'always',
    requestIdExpirationPeriodMs: SIGN_IN_MS,
    generateUniqueId: () => id,
    cacheProvider: {
      saveAsync: () => Promise.resolve(null),
      getAsync: (key) => Promise.resolve(key === id ? at : null),
      removeAsync: () => Promise.resolve(null),
    },
  });

/** @throws unless it answers this request; node-saml compares neither recipient nor issuer */
function identityOf(profile, id) {
  const assertion = profile.getAssertion().Assertion;
  const [subject] = assertion.Subject;
  const isAnswer = subject.SubjectConfirmation.every(({ $, SubjectConfirmationData: [data] }) => {
    const { Recipient, InResponseTo, NotOnOrAfter } = data.$;
    return $.Method === BEARER && Recipient === ACS && InResponseTo === id && isText(NotOnOrAfter);
  });
  if (!isAnswer) throw new Error('the assertion answers another request');
  if (assertion.Issuer[0]._ !== IDP_ENTITY_ID) throw new Error('the assertion has another issuer');
  const of = (name) => [profile.attributes?.[name]].flat().filter(isText);
  const { _: nameId, $: { Format } = {} } = subject.NameID?.[0] ?? {};
  const userId = ID_ATTRIBUTE ? of(ID_ATTRIBUTE)[0] : Format === PERSISTENT && nameId;
  if (!isText(userId)) throw new Error(`the assertion lacks ${ID_ATTRIBUTE ?? 'a persistent NameID'}`);
  const [[username], [email]] = [of(NAME_ATTRIBUTE), of(EMAIL_ATTRIBUTE)];
  return { provider_user_id: userId, username, email, claims: { groups: of(GROUPS_ATTRIBUTE) } };
}

const app = express().disable('x-powered-by');
const form = express.urlencoded({ extended: false, limit: '64kb', parameterLimit: 10 });
const refusePage = (response, status) =>
  response.status(status).send('<p>This sign-in did not work. Please go back to the application.</p>');

// docs/provider-contract.md
app.get('/oauth2/authorize', async (request, response) => {
  const { client_id, redirect_uri, state, code_challenge, code_challenge_method } = request.query;
  const isAllowed = isText(redirect_uri) && REDIRECT_URIS.split(',').includes(anyPort(redirect_uri));
  const isBound =
    code_challenge === undefined || (isText(code_challenge) && code_challenge_method === 'S256');
  if (client_id !== CLIENT_ID || !isAllowed || !isText(state) || !isBound) return refusePage(response, 400);
  const id = `_${randomBytes(20).toString('hex')}`;
  requests.put(id, { redirect_uri, state, code_challenge, at: new Date().toISOString() });
  return response.redirect(302, await samlOf(id).getAuthorizeUrlAsync(id, undefined, {}));
});

app.post('/acs', form, async (request, response) => {
  const { SAMLResponse, RelayState: id } = request.body ?? {};
  const sought = isText(id) && isText(SAMLResponse) ? requests.take(id) : undefined;
  if (!sought) return refusePage(response, 400); // unsolicited, replayed or too late
  const { redirect_uri, state, code_challenge, at } = sought;
  let identity;
  try {
    const { profile } = await samlOf(id, at).validatePostResponseAsync({ SAMLResponse });
    identity = identityOf(profile, id);
  } catch (error) {
    console.error(`A response was refused: ${JSON.stringify(String(error.message).slice(0, 200))}`);
    return refusePage(response, 403);
  }
  const code = randomBytes(32).toString('base64url');
  codes.put(code, { redirect_uri, code_challenge, identity });
  const query = `code=${code}&state=${encodeURIComponent(state)}`;
  return response.redirect(303, redirect_uri + (redirect_uri.includes('?') ? '&' : '?') + query);
});

app.post('/oauth2/token/exchange', form, (request, response) => {
  const refuse = (status, error, text) => response.status(status).json({ error, error_description: text });
  const { client_id, client_secret, code, redirect_uri, code_verifier } = request.body ?? {};
  const isWhole = [client_id, client_secret, code, redirect_uri].every(isText);
  if (!isWhole) return refuse(400, 'invalid_request', 'a parameter is missing');
  const isClient = isSame(client_id, CLIENT_ID) && isSame(client_secret, CLIENT_SECRET);
  if (!isClient) return refuse(401, 'invalid_client', 'the client credentials are wrong');
  const grant = codes.take(code);
  const challenge = isText(code_verifier) ? hash(code_verifier).toString('base64url') : undefined;
  const isGranted = grant?.redirect_uri === redirect_uri && grant.code_challenge === challenge;
  if (!isGranted) return refuse(400, 'invalid_grant', 'the code is not valid');
  return response.set('Cache-Control', 'no-store').json(grant.identity);
});

app.get('/metadata', (_request, response) =>
  response
    .type('application/samlmetadata+xml')
    .send(samlOf('_metadata').generateServiceProviderMetadata(null, SP_CERT)),
);
app.use(({ status = 500, message }, _request, response, _next) => {
  if (status >= 500) console.error(message);
  refusePage(response, status);
});
app.listen(Number(PORT), () => console.log(`Listening on port ${PORT}`));

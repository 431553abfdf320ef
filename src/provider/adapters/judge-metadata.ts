import type { ServerMetadata } from 'openid-client';
import type { ProviderSettings } from '../../config/settings/settings.js';
import { usesPkce } from './provider-pkce.js';
import { Unsupported } from './unsupported.js';
import { parseUrl } from '../../config/urls/urls.js';

type Metadata = Readonly<Record<string, unknown>>;
type Options = ProviderSettings['options'];
type Judge = (metadata: Metadata, options: Options) => Unsupported | undefined;

/** What can be verified with a public key; openid-client knows no others. */
const ASYMMETRIC = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;
const ADDRESSES = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;
const SECRETS = ['client_secret_basic', 'client_secret_post'];

/**
 * What in a discovery document shows that nobody can sign in; pure. A document that says nothing about a thing leaves it open:
 * then the attempt tells. `response_modes_supported` is not judged, since Slack lists form_post alone, and sends a query.
 *
 * @param options of the provider: with `token_endpoint_auth_method`, or `pkce` off, the document's list of methods does not count
 */
export function judgeMetadata(metadata: ServerMetadata, options: Options): readonly Unsupported[] {
  const judged = JUDGES.map((judge) => judge(metadata, options));
  return judged.filter((found) => found !== undefined);
}

const JUDGES: readonly Judge[] = [
  (metadata) => {
    const isHttps = /^https:/i.test(String(metadata['issuer']));
    const bad = ADDRESSES.filter((name) => !isAddress(metadata[name], isHttps));
    return bad.length > 0 ? new Unsupported('addresses', bad.join(', ')) : undefined;
  },
  (metadata) => {
    const types = listed(metadata, 'response_types_supported');
    if (types && !types.includes('code')) return lists('codeFlow', 'response_types_supported', types);
    const grants = listed(metadata, 'grant_types_supported');
    if (!grants || grants.includes('authorization_code')) return undefined;
    return lists('codeFlow', 'grant_types_supported', grants);
  },
  (metadata, { token_endpoint_auth_method: setting }) => {
    const name = 'token_endpoint_auth_methods_supported';
    const methods = listed(metadata, name);
    if (!methods || setting !== undefined || SECRETS.some((method) => methods.includes(method)))
      return undefined;
    return lists(methods.every((one) => one === 'none') ? 'publicClients' : 'clientKeys', name, methods);
  },
  demands('pushedRequests', 'require_pushed_authorization_requests'), // RFC 9126 §5
  demands('requestObjects', 'require_signed_request_object'), // RFC 9101 §10.5
  (metadata, options) => {
    const methods = listed(metadata, 'code_challenge_methods_supported');
    if (!methods || methods.includes('S256') || !usesPkce(options, 'on')) return undefined;
    return lists('pkceMethod', 'code_challenge_methods_supported', methods);
  },
  (metadata) => {
    const algorithms = listed(metadata, 'id_token_signing_alg_values_supported');
    if (!algorithms || algorithms.some((alg) => ASYMMETRIC.test(alg))) return undefined;
    return lists('idTokenSignature', 'id_token_signing_alg_values_supported', algorithms);
  },
];

function demands(kind: Unsupported['kind'], name: string): Judge {
  return (metadata) => (metadata[name] === true ? new Unsupported(kind, `${name}: true`) : undefined);
}

/** The texts of a list; undefined where there is none, or none with something in it: it then says nothing. */
function listed(metadata: Metadata, name: string): readonly string[] | undefined {
  const value = metadata[name];
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((one): one is string => typeof one === 'string');
  return texts.length > 0 ? texts : undefined;
}

/** With the values that are names of something: others could be anything. */
function lists(kind: Unsupported['kind'], name: string, values: readonly string[]): Unsupported {
  const names = values.filter((value) => /^[\w -]{1,40}$/.test(value)).slice(0, 10);
  return new Unsupported(kind, `${name}: ${names.join(', ') || 'nothing known'}`);
}

/** https where the issuer is: openid-client sends nothing to others. */
function isAddress(value: unknown, isHttps: boolean): boolean {
  return (
    typeof value === 'string' &&
    parseUrl(value) !== undefined &&
    (isHttps ? /^https:/i : /^https?:/i).test(value)
  );
}

import type { ProviderSettings } from '../../../platform/config/providers/provider-settings.js';
import { parseUrl } from '../../../platform/config/urls/urls.js';
import { isSafe, nameOf, reachableAddress } from '../../../provider/adapters/addresses.js';
import { fetchDocument } from '../../../provider/adapters/oidc-client.js';
import { badAnswer, readObject } from '../../../provider/transport/provider-answer.js';
import type { ProviderHttp, ProviderResponse } from '../../../provider/transport/provider-http.js';

/** Where events may be pushed to a receiver (RFC 8935). */
export const PUSH = 'urn:ietf:rfc:8935';

/** Validated metadata of a transmitter (SSF 1.0 §7.1). Addresses are those that the service can ask. */
export interface Transmitter {
  /** `iss` of its events, byte for byte. */
  readonly issuer: string;
  readonly jwksUri: string | undefined;
  readonly specVersion: string | undefined;
  readonly deliveryMethods: readonly string[];
  readonly configurationEndpoint: string | undefined;
  readonly statusEndpoint: string | undefined;
  readonly verificationEndpoint: string | undefined;
  /** `NONE`: a stream has no subjects until they are added. */
  readonly defaultSubjects: string | undefined;
  /** Members of a complex subject that a receiver must understand. */
  readonly criticalSubjectMembers: readonly string[];
}

/** Returns the provider's issuer and the transmitter's, which may name users; without a final slash. */
export function namesOf(provider: ProviderSettings): readonly [string, string] {
  return [nameOf(provider), transmitterIssuer(provider)];
}

/** Returns the issuer that the metadata must name, without a final slash. */
function transmitterIssuer(provider: ProviderSettings): string {
  return provider.signals?.issuer?.replace(/\/$/, '') ?? nameOf(provider);
}

/**
 * Returns where the metadata may be: SSF 1.0 §7.2 inserts the well-known path before that of the issuer.
 * Products that had the document before append it.
 */
export function metadataUrls(provider: ProviderSettings): readonly string[] {
  const issuer = provider.signals?.issuer?.replace(/\/$/, '') ?? provider.url ?? nameOf(provider);
  const { origin, pathname, search } = parseUrl(issuer) ?? { origin: issuer, pathname: '/', search: '' };
  const inserted = `${origin}/.well-known/ssf-configuration${pathname.replace(/\/$/, '')}${search}`;
  return [...new Set([inserted, `${issuer}/.well-known/ssf-configuration`])];
}

/**
 * Fetches the metadata of a provider's transmitter.
 * @throws an error that quotes nothing of the answer, if there is none or it is unusable
 */
export async function discoverTransmitter(
  http: ProviderHttp,
  provider: ProviderSettings,
): Promise<Transmitter> {
  let answer: ProviderResponse | undefined;
  const { issuer } = provider.signals ?? {};
  // Without a transmitter, `signals_issuer` (Okta's organisation) may still sign global revocations.
  const discovery = issuer && `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  for (const url of [...metadataUrls(provider), ...(discovery ? [discovery] : [])]) {
    answer = await fetchDocument(http, url);
    if (answer.status === 200) return readTransmitter(provider, answer);
  }
  throw badAnswer('the metadata of the transmitter is not available', answer!);
}

/** Validates the metadata of a provider's transmitter (SSF 1.0 §7.2.4). */
export function readTransmitter(provider: ProviderSettings, answer: ProviderResponse): Transmitter {
  const document = readObject(answer);
  const { issuer } = document;
  if (typeof issuer !== 'string' || issuer.replace(/\/$/, '') !== transmitterIssuer(provider)) {
    throw badAnswer('the metadata of the transmitter names another issuer', answer);
  }
  const addressOf = (name: string): string | undefined => {
    const value = document[name];
    if (value === undefined || value === null) return undefined;
    const address = typeof value === 'string' ? reachableAddress(provider, value) : '';
    if (!isSafe(address, provider, issuer))
      throw badAnswer(`${name} of the transmitter is not https`, answer);
    return address;
  };
  const textOf = (name: string): string | undefined => textsIn([document[name]])[0];
  return {
    issuer,
    jwksUri: addressOf('jwks_uri'),
    specVersion: textOf('spec_version'),
    deliveryMethods: textsIn(document['delivery_methods_supported']),
    configurationEndpoint: addressOf('configuration_endpoint'),
    statusEndpoint: addressOf('status_endpoint'),
    verificationEndpoint: addressOf('verification_endpoint'),
    defaultSubjects: textOf('default_subjects'),
    criticalSubjectMembers: textsIn(document['critical_subject_members']),
  };
}

export function textsIn(list: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(list) ? list : [];
  return all.filter((one) => typeof one === 'string' && one !== '') as string[];
}

import type { Keycloak } from './keycloak.js';

/**
 * Options of Keycloak: push to loopback, without a wait of up to 30 s for the next delivery, or of a minute
 * between verifications.
 */
export const SIGNALS = [
  '--features=ssf',
  '--spi-ssf-transmitter--default--allow-insecure-push-targets=true',
  '--spi-ssf-transmitter--default--outbox-drainer-interval=500ms',
  '--spi-ssf-transmitter--default--min-verification-interval-seconds=0',
];

interface Client {
  readonly id: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Makes a client of the realm a receiver, as docs/signals.md#keycloak says. */
export async function makeReceiver({ admin }: Keycloak, clientId: string, publicUrl: string): Promise<void> {
  await admin('PUT', '/latchkey', { attributes: { 'ssf.transmitterEnabled': 'true' } });
  const [client] = (await admin('GET', `/latchkey/clients?clientId=${clientId}`)) as Client[];
  const path = `/latchkey/clients/${client!.id}`;
  await admin('PUT', path, {
    ...client,
    serviceAccountsEnabled: true,
    attributes: {
      ...client!.attributes,
      'backchannel.logout.url': '', // back-channel logout would end the session as well
      'ssf.enabled': 'true',
      'ssf.validPushUrls': `${publicUrl}/*`,
      'ssf.streamAudience': publicUrl,
      'ssf.defaultSubjects': 'ALL',
    },
  });
  const scopes = (await admin('GET', '/latchkey/client-scopes')) as { id: string; name: string }[];
  for (const { id } of scopes.filter(({ name }) => name.startsWith('ssf.'))) {
    await admin('PUT', `${path}/optional-client-scopes/${id}`);
  }
}

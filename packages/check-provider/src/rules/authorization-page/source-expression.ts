const SOURCE =
  /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?([a-z0-9.-]+|\[[0-9a-f:]+\]|\*)(?::(\d+|\*))?(?:\/.*)?$/i;
const DEFAULT_PORT: Readonly<Record<string, string>> = { http: '80', https: '443' };

/** Whether a source expression matches an origin (CSP3 §6.7.2). `'none'` and `'self'` do not: ours is another origin. */
export function matchesSourceExpression(source: string, { protocol, hostname, port }: URL): boolean {
  const scheme = protocol.slice(0, -1);
  const allowsScheme = (wanted: string): boolean =>
    wanted === scheme || (wanted === 'http' && scheme === 'https');
  if (source === '*') return true;
  if (/^[a-z][a-z0-9+.-]*:$/i.test(source)) return allowsScheme(source.slice(0, -1).toLowerCase());
  const [, wantedScheme = scheme, wildcard, host = '', wantedPort = DEFAULT_PORT[scheme]] =
    SOURCE.exec(source) ?? [];
  const name = host.toLowerCase();
  const allowsHost = name === '*' || (wildcard ? hostname.endsWith(`.${name}`) : hostname === name);
  const allowsPort = wantedPort === '*' || wantedPort === (port || DEFAULT_PORT[scheme]);
  return allowsScheme(wantedScheme.toLowerCase()) && allowsHost && allowsPort;
}

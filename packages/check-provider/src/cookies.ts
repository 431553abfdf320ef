/** Session cookies on the way to a login page, by host; only the part of RFC 6265 that one visit needs. */
export class Cookies {
  private readonly byHost = new Map<string, Map<string, string>>();

  keep({ host }: URL, headers: Headers): void {
    const jar = this.byHost.get(host) ?? new Map<string, string>();
    this.byHost.set(host, jar);
    for (const line of headers.getSetCookie()) {
      const [, name, value] = /^([^=;]+)=([^;]*)/.exec(line) ?? [];
      if (name !== undefined) jar.set(name.trim(), value ?? '');
    }
  }

  headerFor({ host }: URL): { Cookie?: string } {
    const jar = this.byHost.get(host);
    if (!jar || jar.size === 0) return {};
    return { Cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') };
  }
}

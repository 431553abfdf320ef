import type { Adapter, AdapterPayload } from 'oidc-provider';

/** What a provider of a test remembers: in memory, so that it is kept when the provider is configured again. */
export class OidcMemory {
  private readonly rows = new Map<string, AdapterPayload>();

  /** The storage of one model, as oidc-provider asks for it. */
  readonly adapter = (model: string): Adapter => {
    const key = (id: string): string => `${model}:${id}`;
    return {
      upsert: async (id, payload) => void this.rows.set(key(id), payload),
      find: async (id) => this.rows.get(key(id)),
      findByUid: async (uid) => [...this.rows.values()].find((row) => row.uid === uid),
      findByUserCode: async () => undefined,
      consume: async (id) => {
        const row = this.rows.get(key(id));
        if (row) row['consumed'] = Math.floor(Date.now() / 1000);
      },
      destroy: async (id) => void this.rows.delete(key(id)),
      revokeByGrantId: async (grantId) => {
        for (const [id, row] of this.rows) if (row.grantId === grantId) this.rows.delete(id);
      },
    };
  };
}

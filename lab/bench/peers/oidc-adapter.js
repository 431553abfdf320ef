/**
 * An adapter on PostgreSQL, of the shape of node-oidc-provider's own examples: one table, the payload as JSON, and named statements.
 */
export const TABLE = `
  CREATE TABLE oidc_payloads (
    kind text NOT NULL,
    id text NOT NULL,
    payload jsonb NOT NULL,
    grant_id text,
    user_code text,
    uid text,
    expires_at timestamptz,
    consumed_at timestamptz,
    PRIMARY KEY (kind, id)
  );
  CREATE INDEX ON oidc_payloads (grant_id) WHERE grant_id IS NOT NULL;
  CREATE INDEX ON oidc_payloads (uid) WHERE uid IS NOT NULL`;

const UPSERT = `
  INSERT INTO oidc_payloads (kind, id, payload, grant_id, user_code, uid, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
  ON CONFLICT (kind, id) DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id,
    user_code = excluded.user_code, uid = excluded.uid, expires_at = excluded.expires_at`;
const found = (column) => `
  SELECT payload, consumed_at FROM oidc_payloads
  WHERE kind = $1 AND ${column} = $2 AND (expires_at IS NULL OR expires_at > now())`;

export const adapterOn = (pool) =>
  class {
    constructor(kind) {
      this.kind = kind;
    }

    async upsert(id, payload, seconds) {
      const { grantId, userCode, uid } = payload;
      const values = [this.kind, id, payload, grantId, userCode, uid, seconds];
      await pool.query({ name: 'upsert', text: UPSERT, values });
    }

    find(id) {
      return this.first('id', id);
    }

    findByUid(uid) {
      return this.first('uid', uid);
    }

    findByUserCode(userCode) {
      return this.first('user_code', userCode);
    }

    async consume(id) {
      const text = 'UPDATE oidc_payloads SET consumed_at = now() WHERE kind = $1 AND id = $2';
      await pool.query({ name: 'consume', text, values: [this.kind, id] });
    }

    async destroy(id) {
      const text = 'DELETE FROM oidc_payloads WHERE kind = $1 AND id = $2';
      await pool.query({ name: 'destroy', text, values: [this.kind, id] });
    }

    async revokeByGrantId(grantId) {
      const text = 'DELETE FROM oidc_payloads WHERE grant_id = $1';
      await pool.query({ name: 'revoke', text, values: [grantId] });
    }

    async first(column, value) {
      const query = { name: `find-${column}`, text: found(column), values: [this.kind, value] };
      const { rows } = await pool.query(query);
      if (!rows[0]) return undefined;
      return { ...rows[0].payload, ...(rows[0].consumed_at && { consumed: true }) };
    }
  };

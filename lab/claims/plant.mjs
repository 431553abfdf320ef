import pg from 'pg';

/** Preloaded into the compiled service: plants a fault into its SQL. */
const FAULTS = {
  'PUT merges': [/, claims = (\$\d)/, ", claims = coalesce(claims, '{}') || $1::jsonb"],
  'refresh without version': [
    /AND coalesce\(\(SELECT claims_version [^)]*\), 0\) = (\$8|n\.claims_version)/,
    'AND $8::text IS NOT NULL',
  ],
  'feed drops a change': [
    'WHERE (claims_changed_at, user_id) >',
    'WHERE hashtext(claims::text) % 8 <> 0 AND (claims_changed_at, user_id) >',
  ],
  'channel drops an event': [
    'WHERE before + place >=',
    'WHERE (before + place) % 8 <> 0 AND before + place >=',
  ],
};
const [from, to] = FAULTS[process.env['LAB_FAULT']];

// oxlint-disable-next-line typescript/unbound-method -- called with its own this
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (config, ...more) {
  const text = typeof config === 'string' ? config : config?.text;
  const planted = text?.replace(from, to);
  if (planted === text) return query.call(this, config, ...more);
  return query.call(this, typeof config === 'string' ? planted : { ...config, text: planted }, ...more);
};

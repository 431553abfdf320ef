import pg from 'pg';

// Preloaded into the service: a planted fault changes the text of a statement (plants.ts).
const [pattern, replacement] = JSON.parse(process.env.PLANTED_SQL);
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (statement, ...more) {
  const rewrite = (text) => text.replace(new RegExp(pattern), replacement);
  const isText = typeof statement === 'string';
  return query.call(
    this,
    isText ? rewrite(statement) : { ...statement, text: rewrite(statement.text) },
    ...more,
  );
};

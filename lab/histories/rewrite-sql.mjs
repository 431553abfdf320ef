import pg from 'pg';

// Preloaded into the service: a planted fault changes the text of a statement (plants.ts).
const [pattern, replacement] = JSON.parse(process.env.PLANTED_SQL);
const rewrite = (text) => text.replace(new RegExp(pattern), replacement);
/** @param {(...all: unknown[]) => unknown} query */
const rewriting = (query) =>
  function (statement, ...more) {
    const isText = typeof statement === 'string';
    const rewritten = isText ? rewrite(statement) : { ...statement, text: rewrite(statement.text) };
    return query.call(this, rewritten, ...more);
  };
const { prototype } = pg.Client;
prototype.query = rewriting(prototype['query']);

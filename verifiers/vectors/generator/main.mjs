#!/usr/bin/env node
import { readFileSync, writeFileSync } from 'node:fs';
import { agents } from './agents.mjs';
import { away } from './away.mjs';
import { claims } from './claims.mjs';
import { sessions } from './sessions.mjs';
import { signatures } from './signatures.mjs';
import { ISSUER, keyOf, START } from './tokens.mjs';
import { wire } from './wire.mjs';

// Writes verifiers/vectors/*.json; with `--check` it compares them, and fails if they differ.

const tokens = {};
function named(name, value = tokens[name]) {
  const known = tokens[name] ?? value;
  if (known.token !== value.token && JSON.stringify(known.payload) !== JSON.stringify(value.payload))
    throw new Error(`two tokens named ${name}`);
  tokens[name] = known;
  return { name, payload: known.payload };
}

const published = (kid) => [kid, keyOf(kid).publicJwk];
const keys = {
  ...Object.fromEntries(['k1', 'k2'].map(published)),
  rsa: { kty: 'RSA', kid: 'rsa', n: 'AQAB', e: 'AQAB', alg: 'RS256', use: 'sig' },
  broken: { kty: 'EC', crv: 'P-256', kid: 'broken', x: 'no', y: 'no', alg: 'ES256', use: 'sig' },
};
const cases = Object.entries({ signatures, sessions, claims, away, wire, agents }).map(([name, of]) => [
  name,
  { cases: of(named) },
]);
const files = { keys: { issuer: ISSUER, start: START, keys }, tokens, ...Object.fromEntries(cases) };

/** A step, a token or a key in each line. */
function format(value, indent = '', depth = 0) {
  if (typeof value !== 'object' || value === null || depth === 4 || 'do' in value || 'token' in value)
    return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) =>
      `${indent} ${Array.isArray(value) ? '' : `${JSON.stringify(name)}: `}${format(member, `${indent} `, depth + 1)}`,
  );
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return members.length === 0 ? open + close : `${open}\n${members.join(',\n')}\n${indent}${close}`;
}

for (const [name, content] of Object.entries(files)) {
  const path = new URL(`../${name}.json`, import.meta.url);
  const text = `${format(content)}\n`;
  if (!process.argv.includes('--check')) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`verifiers/vectors/${name}.json is not what the generator writes`);
    process.exitCode = 1;
  }
}

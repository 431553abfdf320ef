import { databaseUrl } from './database-url.js';
import { InvalidValue } from '../settings/parsers.js';

it.each([
  'postgres://db.example',
  'postgresql://u:p@db.example:5432/x?sslmode=verify-full&sslrootcert=/etc/ca.pem',
  'postgres://u:p,%40@[2001:db8::1]:5433/x',
  'postgres://u@%2Frun%2Fpostgresql:5433/x', // sockets: the directory as host, …
  'postgres:///x?host=/run/postgresql', // … or in the query …
  'postgres://u:p@/x?host=/run/postgresql', // … also after a user
  'postgres://u:100%25@[2001:db8::1]/x?application_name=50%25',
])('%s is kept as it is', (url) => {
  expect(databaseUrl.parse(url)).toBe(url);
});

it.each([
  '',
  'db.example',
  'mysql://db.example',
  'postgres:/db.example',
  'postgres://db.example:port/x',
  // pg would throw, …
  'postgres://u:%ff@db.example/x',
  'postgres://db.example/%c3x',
  'postgres://u:100%@[2001:db8::1]/x',
  'postgres://u:a%2Fb@db.example/my db',
  'postgres://u:a%2Fb@db.example/x?application_name=50%-x', // … or use the password a%2Fb
])('%j is refused', (url) => {
  expect(() => databaseUrl.parse(url)).toThrow(InvalidValue);
});

it.each([
  'postgres://u:p@a.example,b.example/x',
  'postgres://a.example:5432,b.example:5432/x',
  'postgres://u:p@/x?host=a.example,b.example',
  'postgres://a.example/x?host=a.example%2Cb.example',
])('%s is refused, in words of its own: pg knows one host', (url) => {
  expect(() => databaseUrl.parse(url)).toThrow(expect.objectContaining({ problem: 'names several hosts' }));
});

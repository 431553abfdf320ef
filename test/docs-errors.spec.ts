import { readFileSync } from 'node:fs';
import { ERROR_STATUS } from '../src/errors/oauth-error.js';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const [, ofService = '', ofClient = '', ofServer = ''] = read('docs/errors.md').split(
  /^## (?:Codes of .*|Symptoms)$/m,
);

/** The words of a package's type `ErrorCode`. */
const codesOf = (name: string): string[] => {
  const [, type = ''] =
    /export type ErrorCode =(.*?);/s.exec(read(`packages/${name}/src/latchkey-error.ts`)) ?? [];
  return [...type.matchAll(/'(\w+)'/g)].map(([, code]) => code!);
};
const headings = (text: string): string[] =>
  [...text.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading!);

describe('docs/errors.md', () => {
  it('has an entry with the status of each code of the service, and of no other', () => {
    const entries = [...ofService.matchAll(/^### (\w+)\n\nStatus (\d+)/gm)];
    expect(Object.fromEntries(entries.map(([, code, status]) => [code, Number(status)]))).toEqual(
      ERROR_STATUS,
    );
    expect(headings(ofService)).toHaveLength(entries.length);
  });

  it('has an entry of each code of the browser SDK, and of no other', () => {
    expect(headings(ofClient).toSorted()).toEqual(codesOf('client').toSorted());
  });

  it('has a row of each code of the SDK for APIs, and of no other', () => {
    const rows = [...ofServer.matchAll(/^\| `(\w+)`/gm)].map(([, code]) => code!);
    expect(rows.toSorted()).toEqual(codesOf('server').toSorted());
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { settingsTable } from '../src/config/settings-table.js';

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
const compose = read('docker-compose.yml');
/** The text of each service, by its name. */
const services = new Map(
  compose
    .split(/^volumes:/m)[0]!
    .split(/^(?=  \w+:$)/m)
    .slice(1)
    .map((text) => [text.trim().split(':')[0]!, text]),
);

/** For the embedded database, which the containers do not use. */
const NOT_NEEDED = ['DATA_DIR'];

describe('docker-compose.yml', () => {
  it('has the two services that are tested below', () => {
    expect([...services.keys()]).toEqual(['latchkey', 'postgres']);
  });

  const names = Object.values(settingsTable).map(({ name }) => name);
  it.each(names.filter((name) => !NOT_NEEDED.includes(name)))('passes %s on', (name) => {
    expect(services.get('latchkey')).toMatch(new RegExp(`^      ${name}:( |$)`, 'm'));
  });

  it.each([...services])('gives %s no more than it needs', (_name, text) => {
    for (const line of [
      'read_only: true',
      'cap_drop: [ALL]',
      "security_opt: ['no-new-privileges:true']",
      'mem_limit: ',
      'pids_limit: ',
    ])
      expect(text).toContain(`    ${line}`);
    expect(text).not.toContain('cap_add');
  });
});

it('every image is named with its full version', () => {
  const images = [...`${read('Dockerfile')}\n${compose}`.matchAll(/(?:^FROM|^    image:) (\S+)/gm)];
  expect(images).toHaveLength(3);
  for (const [, image] of images) expect(image).toMatch(/^(node:\d+\.\d+\.\d+|postgres:\d+\.\d+)-[a-z-]+$/);
});

it('the image is built with every workspace: `npm ci` skips missing ones without an error', () => {
  for (const name of readdirSync(new URL('../packages/', import.meta.url)))
    expect(read('Dockerfile')).toContain(`\nCOPY packages/${name}/package.json packages/${name}/\n`);
});

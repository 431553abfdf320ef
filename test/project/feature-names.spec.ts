import { getMetadataArgsStorage } from 'typeorm';
import type { Feature } from '../../src/extensions.js';
import { FEATURES } from '../../src/features.js';
import { files, isOf, LISTS, textOf } from './feature-files.js';

/** Matches what only a feature has: its name, settings, keys of providers, tables, events and work. */
async function wordsOf(feature: Feature): Promise<RegExp> {
  const { name, settings = {}, providerKeys = {}, builtInProvider, work = {} } = feature;
  const entities = Object.values((await feature.entities?.()) ?? {});
  const tables = getMetadataArgsStorage().tables.filter(({ target }) => entities.includes(target as never));
  const words = [
    name.replaceAll('-', '[-_ ]?'),
    ...Object.entries(settings).flatMap(([key, row]) => [key, row.name]),
    ...Object.keys({ ...providerKeys, ...builtInProvider?.keys }).filter((key) => key.includes('_')),
    ...tables.map((table) => table.name!),
    ...Object.keys(work),
  ];
  return new RegExp(`(?<![a-z])(?:${words.join('|')})(?![a-z])`, 'i');
}

/** So that nothing else must change if a feature goes (features.spec.ts deletes each). */
describe('nothing else names', () => {
  it.each(FEATURES.map((feature) => [feature.name, feature] as const))('%s', async (_, feature) => {
    const words = await wordsOf(feature);
    const strangers = files
      .filter((file) => /^(?:src|admin\/src|openapi)\/.*\.tsx?$/.test(file) && !isOf(feature, file))
      .filter((file) => !LISTS.includes(file))
      .flatMap((file) =>
        textOf(file)
          .split('\n')
          .flatMap((line, i) => (words.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : [])),
      );
    expect(strangers).toEqual([]);
  });
});

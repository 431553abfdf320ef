import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { AUDIT_NAMES, FEATURES } from '../../src/features.js';
import { ADAPTERS, requiredKeys } from '../../src/platform/config/providers/provider-keys.js';
import type { SettingRow } from '../../src/platform/config/settings/setting-row.js';
import { SETTING_TABLES } from '../../src/settings.js';
import type { Entry, Surface } from './compare.js';
import { exportedNames } from './exports.js';
import { httpSurface, type OpenApi } from './http.js';

const ROOT = new URL('../../', import.meta.url);
const FOLDER = new URL('docs/surface/', ROOT);
const textOf = (file: string): string => readFileSync(new URL(file, ROOT), 'utf8');

/** What the present version promises (docs/versions.md): read from the code and from generated documents. */
export function presentSurface(): Surface {
  return {
    ...httpSurface(JSON.parse(textOf('docs/openapi.json')) as OpenApi),
    'claims of access tokens': tokenClaims(),
    'channel events': channelEvents(),
    'feed events': feedEvents(),
    'audit events': Object.fromEntries(AUDIT_NAMES.map((name) => [name, {}])),
    settings: Object.fromEntries(
      Object.values(SETTING_TABLES.settings).map((row) => [
        row.name,
        { ...settingOf(row), ...needsOf(row.needs) },
      ]),
    ),
    'provider keys': providerKeys(),
    adapters: Object.fromEntries([...ADAPTERS].map((name) => [name, needsOf(...requiredKeys(name))])),
    metrics: metrics(),
    exports: exportedNames(),
    verifiers: verifiers(),
    styles: styles(),
    commands: commands(),
    'Helm values': Object.fromEntries(leavesOf(parse(textOf('deploy/helm/values.yaml')))),
  };
}

/** Text of a surface: a line for each thing, in the order of their names. */
export function format(surface: Surface): string {
  const oneLine = (value: unknown): string => JSON.stringify(value, null, 1).replaceAll(/\n */g, ' ');
  const sections = Object.entries(surface).map(([section, things]) => {
    const names = Object.keys(things).toSorted();
    const lines = names.map((name) => `    ${JSON.stringify(name)}: ${oneLine(things[name])}`);
    return `  ${JSON.stringify(section)}: {\n${lines.join(',\n')}\n  }`;
  });
  return `{\n${sections.join(',\n')}\n}\n`;
}

/** The surface of the newest version that has one, as a text. */
export function frozenSurface(): { readonly version: string; readonly text: string } {
  const versions = readdirSync(FOLDER).flatMap((file) => /^(\d+\.\d+\.\d+)\.json$/.exec(file)?.[1] ?? []);
  const version = versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1)!;
  return { version, text: textOf(`docs/surface/${version}.json`) };
}

/** Members of the interfaces of claims, and what `tokenMembers` adds for a user. */
function tokenClaims(): Record<string, Entry> {
  const members = [
    'access-tokens/access-token.ts AccessTokenClaims',
    'refresh/refresh-token.ts Authentication',
  ];
  const fixed = members.flatMap((place) => {
    const [file, name] = place.split(' ') as [string, string];
    const [, body] = new RegExp(`interface ${name} [^{]*\\{([^}]*)\\}`).exec(textOf(`src/token/${file}`))!;
    return [...body!.matchAll(/^ +readonly (\w+)(\??):/gm)];
  });
  const ofUser = /TOP_LEVEL[^=]*= new Set\(\[\.\.\.LISTS, ([^\]]*)\]/.exec(
    textOf('src/identity/claims.ts'),
  )![1]!;
  const lists = /LISTS[^=]*= \[([^\]]*)\]/.exec(textOf('src/identity/claims.ts'))![1]!;
  const optional = [...`${lists}, ${ofUser}`.matchAll(/'(\w+)'/g)].map(([, name]) => [name!, {}] as const);
  return {
    ...Object.fromEntries(fixed.map(([, name, mark]) => [name!, mark === '' ? { always: true } : {}])),
    ...Object.fromEntries(optional),
    claims: {},
  };
}

/** The table of docs/realtime.md: event, payload, time. */
function channelEvents(): Record<string, Entry> {
  const [, table] = textOf('docs/realtime.md').split('## What the service sends');
  const rows = [...table!.split('\n\n')[1]!.matchAll(/^\| `([\w.]+)` +\| `([^`]+)`/gm)];
  return Object.fromEntries(rows.map(([, name, payload]) => [name!, { values: payload!.match(/[\w?]+/g)! }]));
}

/** The example of docs/ended-sessions.md, which has each event once. */
function feedEvents(): Record<string, Entry> {
  const blocks = textOf('docs/ended-sessions.md').matchAll(/^event: (\w+)\n(?:id: .*\n)?data: (\{.*\})$/gm);
  return Object.fromEntries(
    [...blocks].map(([, name, data]) => [name!, { values: Object.keys(JSON.parse(data!) as object) }]),
  );
}

/** Words and numbers that a parser accepts and its text names; other rules are not compared. */
function settingOf({ parser, default: fixed, defaultShown, productionDefault }: SettingRow<unknown>): Entry {
  const accepts = (text: string | undefined): boolean => {
    try {
      return text !== undefined && parser.parse(text) !== undefined;
    } catch {
      return false; // a word of the sentence
    }
  };
  const [, min, max] = /\bfrom (\d+) to (\d+)/.exec(parser.accepts) ?? [];
  const words = parser.accepts.split(/, (?:or )?| or | \(|\)/).filter((word) => /^[\w-]+$/.test(word));
  const values = words.filter(accepts);
  const standard = [fixed ?? defaultShown, productionDefault && `in production ${productionDefault}`];
  const isRequired = /; required in production/.test(defaultShown ?? '');
  return {
    ...(isRequired && { required: true }),
    ...(standard.some(Boolean) && { default: standard.filter(Boolean).join(', ') }),
    ...(accepts(min) && { min: Number(min), max: Number(max) }),
    ...(values.length > 0 && { values }),
  };
}

const needsOf = (...names: (string | undefined)[]): Entry => {
  const needs = names.filter((name) => name !== undefined);
  return needs.length > 0 ? { needs } : {};
};

function providerKeys(): Record<string, Entry> {
  const { providerKeys: keys, parts } = SETTING_TABLES;
  const builtIn = parts.flatMap(({ builtInProvider }) =>
    Object.entries(builtInProvider?.keys ?? {}).map(
      ([key, row]) => [`${builtInProvider!.name}.${key}`, row] as const,
    ),
  );
  return Object.fromEntries(
    [...Object.entries(keys), ...builtIn].map(([key, row]) => [
      key,
      { ...settingOf(row), ...needsOf(row.needs) },
    ]),
  );
}

/** The table of docs/metrics.md, which test/operations/metrics.spec.ts compares with the metrics. */
function metrics(): Record<string, Entry> {
  const rows = textOf('docs/metrics.md').matchAll(/^\| `(latchkey_\w+)` +\| (\w+) +\| ([^|]*)\|/gm);
  return Object.fromEntries(
    [...rows].map(([, name, type, labels]) => [name!, { type: type!, values: labels!.match(/\w+/g) ?? [] }]),
  );
}

/** Public declarations of the verifiers. */
function verifiers(): Record<string, Entry> {
  const python = sourcesIn(
    'verifiers/python/latchkey_verifier',
    /^(?:__init__|claims|resources|verifier)\.py$/,
  ).flatMap(([, text]) => [
    ...[...text.matchAll(/(?<=^from .*) as (\w+)/gm)].map(([, name]) => [`python ${name}`, {}] as const),
    ...[
      ...text.matchAll(
        /def (__init__|require_role|require_scope|authenticate|verify|is_notified|protected_resource|metadata|asgi|wsgi|close)\((.*)\)/g,
      ),
    ].map(([, name, params]) => [`python ${name}()`, { params: pythonParams(params!) }] as const),
  ]);
  const go = sourcesIn('verifiers/go', /(?<!_test)\.go$/).flatMap(([, text]) =>
    declarations(text, /^(?:func (?:\(\w+ \*?[A-Z]\w*\) )?[A-Z]|type [A-Z]|\t[A-Z]\w* +[\w.=]).*/gm),
  );
  const java = sourcesIn('verifiers/java/src/main/java', /\.java$/)
    .filter(([, text]) => /^public /m.test(text))
    .flatMap(([name, text]) =>
      declarations(text, /^ *public .*/gm).map((declaration) => `${name} ${declaration}`),
    );
  return {
    ...Object.fromEntries(python),
    ...Object.fromEntries([...go.map((name) => `go ${name}`), ...java].map((name) => [name, {}])),
  };
}

/** Those after `*` are given by name alone: they come last, since their place is no promise. */
function pythonParams(text: string): readonly string[] {
  const all = text.trim().split(', ');
  const star = all.includes('*') ? all.indexOf('*') : all.length;
  const named = all.slice(star + 1);
  const isRest = (param: string): boolean => param.startsWith('**');
  return [...all.slice(0, star), ...named.filter(isRest), ...named.filter((param) => !isRest(param))].map(
    pythonParam,
  );
}

function pythonParam(text: string): string {
  const [name] = text.split('=');
  return text.includes('=') ? `?${name}` : name!.replace(/^\*+/, '...');
}

/** Lines without comments and bodies. */
function declarations(text: string, line: RegExp): readonly string[] {
  return (text.match(line) ?? []).map((found) =>
    found
      .replace(/ \/\/.*| ?\{.*|;$/g, '')
      .trim()
      .replaceAll(/\s+/g, ' '),
  );
}

/** Custom properties and parts of the components, which a page sets. */
function styles(): Record<string, Entry> {
  const names = sourcesIn('packages/client/src', /(?<!\.spec)\.ts$/).flatMap(([, text]) => [
    ...(text.match(/--latchkey-[\w-]+/g) ?? []),
    ...[...text.matchAll(/\.part\.add\('([\w-]+)'/g)].map(([, part]) => `::part(${part})`),
  ]);
  return Object.fromEntries(names.map((name) => [name, {}]));
}

/** Commands of `latchkey`, and options of all commands. */
function commands(): Record<string, Entry> {
  const [, core] = /^const COMMANDS[^{]*\{\n([^]*?)^\};/m.exec(textOf('src/main.ts'))!;
  const names = [
    ...[...core!.matchAll(/^ {2}'?([\w-]+)'?: \{$/gm)].map(([, name]) => name!),
    ...FEATURES.flatMap((feature) => Object.keys(feature.commands ?? {})),
  ];
  const options = ['src', 'packages/check-provider/src'].flatMap((folder) =>
    sourcesIn(folder, /(?<!\.spec)\.ts$/).flatMap(([, text]) =>
      text.includes('parseArgs(')
        ? [...text.matchAll(/^ +'?([a-z][\w-]*)'?: \{ type: '(\w+)'/gm)].map(
            ([, name, type]) => [`--${name}`, { type: type! }] as const,
          )
        : [],
    ),
  );
  return { ...Object.fromEntries(names.map((name) => [name, {}])), ...Object.fromEntries(options) };
}

/** Texts of files of a folder with a matching name, by path within it. */
function sourcesIn(folder: string, files: RegExp): [name: string, text: string][] {
  return readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => files.test(name))
    .map((name) => [name, textOf(`${folder}/${name}`)]);
}

/** Values with a default, by path; an empty list or object is one. */
function leavesOf(value: unknown, path = ''): [string, Entry][] {
  const isTree = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  if (!isTree) return [[path, { default: JSON.stringify(value) }]];
  return Object.entries(value).flatMap(([key, child]) =>
    leavesOf(child, path === '' ? key : `${path}.${key}`),
  );
}

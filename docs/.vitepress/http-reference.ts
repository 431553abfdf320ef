import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GENERATED, ROOT } from './places.js';

/** A part of an OpenAPI document. */
export type Part = Readonly<Record<string, any>>; // eslint-disable-line @typescript-eslint/no-explicit-any

export const document = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')) as Part;

/** A page for each tag in docs/openapi.json. */
export function httpPages(): { name: string; file: string; description: string }[] {
  return (document['tags'] as { name: string; description: string }[]).map(({ name, description }) => {
    const file = `${GENERATED}/http/${name.toLowerCase().replaceAll(/\W+/g, '-')}.md`;
    return { name, file, description };
  });
}

/** Operations of a tag. */
export function operationsOf(tag: string): Part[] {
  return Object.entries(document['paths'] as Part)
    .flatMap(([path, item]) =>
      Object.entries(item as Part).map(([method, operation]) => ({ ...operation, method, path }) as Part),
    )
    .filter(({ tags }) => tags.includes(tag));
}

/** Writes the operations of docs/openapi.json as Markdown, with headings that the search of the site finds. */
export function writeHttpReference(): void {
  for (const { name, file, description } of httpPages()) {
    const sections = operationsOf(name).map(
      (one) => `## ${one['summary']} {#${one['operationId']}}\n\n${operationText(one)}`,
    );
    mkdirSync(dirname(join(ROOT, file)), { recursive: true });
    writeFileSync(join(ROOT, file), [`# ${name}`, description, '::: v-pre', ...sections, ':::'].join('\n\n'));
  }
}

/** What a reader needs to know of an operation, below its heading, as Markdown. */
export function operationText({ method, path, requestBody, parameters = [], security, ...of }: Part): string {
  const schemes = (security as Part[]).map((one) => Object.entries(one).flat(2).join(' ').trim() || 'none');
  const content = Object.entries((requestBody?.content ?? {}) as Part);
  const parts: (string | undefined)[] = [
    `\`${method.toUpperCase()} ${path}\`, credentials: ${schemes.join(' or ') || 'none'}`,
    of['description'],
    table(parameters.map((one: Part): Row => [`${one['name']} (${one['in']})`, one, one['required']])),
    content[0] && `**Body** ${content.map(([type]) => type).join(' or ')}`,
    content[0] && contentText(content[0][1]),
    ...Object.entries(of['responses'] as Part).map(([status, response]) => answerText(status, response)),
  ];
  return parts.filter(Boolean).join('\n\n');
}

function answerText(status: string, response: Part): string {
  const { description, content } = resolve(response);
  const [first] = Object.values((content ?? {}) as Part) as Part[];
  if (Number(status) < 400 || !response['$ref'])
    return [`**${status}** ${description}`, first && contentText(first)].filter(Boolean).join('\n\n');
  const codes = Object.keys(first!['examples']).map((code) => `[\`${code}\`](../../errors.md#${code})`);
  return `**${status}** ${codes.join(', ')}`;
}

function contentText({ schema, examples = {} }: Part): string {
  const { anyOf = [schema] } = resolve(schema);
  const tables = anyOf.map((one: Part) => table(membersOf(one))).filter(Boolean);
  const values = Object.values(examples as Part).map(({ value }) =>
    typeof value === 'string' ? value : JSON.stringify(value, null, 2),
  );
  return [tables.join('\n\nor\n\n'), ...values.map((value) => `\`\`\`json\n${value}\n\`\`\``)].join('\n\n');
}

type Row = readonly [name: string, member: Part, required: boolean];

function membersOf(schema: Part, at = ''): Row[] {
  const { properties = {}, required = [] } = resolve(schema);
  return Object.entries(properties as Part).flatMap(([name, member]): Row[] => {
    const inner = membersOf(member.items ?? member, `${at}${name}${member.items ? '[]' : ''}.`);
    return [[`${at}${name}`, { ...resolve(member), ...member }, required.includes(name)], ...inner];
  });
}

function table(rows: readonly Row[]): string {
  if (rows.length === 0) return '';
  const lines = rows.map(([name, { type, schema, format, enum: values, description = '' }, required]) => {
    const kind = values?.join(', ') ?? format ?? schema?.format ?? type ?? schema?.type ?? 'any JSON';
    return `| \`${name}\` | ${[kind].flat().join(' or ')}${required ? '' : ', optional'} | ${description} |`;
  });
  return ['| Name | Value | Meaning |', '| --- | --- | --- |', ...lines].join('\n');
}

function resolve(part: Part): Part {
  const path = (part['$ref'] as string | undefined)?.split('/').slice(1);
  return path ? path.reduce((value, name) => value[name], document) : part;
}

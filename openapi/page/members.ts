import { html, type Html } from '../../src/http/page/html.js';
import type { Document, Parameter, Schema } from './document.js';
import { inline } from './markdown.js';

interface Member {
  readonly name: string;
  readonly required: boolean;
  readonly note?: string;
  readonly schema: Schema;
  readonly description?: string | undefined;
}

/** Parameters of a path, a query or a header. */
export function parameterList(parameters: readonly Parameter[]): Html {
  return list(
    parameters.map(({ name, in: place, required = false, schema, description }) => ({
      name,
      required,
      note: `in ${place === 'header' ? 'the headers' : `the ${place}`}`,
      schema,
      description,
    })),
  );
}

/** The members of a body or an answer, and of the objects in them; nothing where it is no object. */
export function memberList(schema: Schema, { components }: Document, isAnswer: boolean): Html | undefined {
  const resolved = (one: Schema): Schema =>
    one.$ref ? components.schemas[one.$ref.split('/').at(-1)!]! : one;
  const { anyOf } = resolved(schema);
  if (anyOf) {
    const lists = anyOf.flatMap((one) => memberList(one, { components } as Document, isAnswer) ?? []);
    return html`${lists.map((one, index) =>
      index === 0
        ? one
        : html`<p class="or">or</p>
            ${one}`,
    )}`;
  }
  const members = membersOf(resolved(schema), resolved);
  if (members.length === 0) return undefined;
  return list(members, isAnswer);
}

function membersOf(
  { properties = {}, required = [] }: Schema,
  resolved: (one: Schema) => Schema,
  path = '',
): Member[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const whole = { ...resolved(schema), ...(schema.description && { description: schema.description }) };
    const inner = whole.items ? resolved(whole.items) : whole;
    const here = `${path}${name}`;
    return [
      { name: here, required: required.includes(name), schema: whole, description: whole.description },
      ...membersOf(inner, resolved, `${here}${whole.items ? '[]' : ''}.`),
    ];
  });
}

function list(members: readonly Member[], isAnswer = false): Html {
  return html`<dl class="members">${members.map((member) => row(member, isAnswer))}</dl>`;
}

function row({ name, required, note, schema, description }: Member, isAnswer: boolean): Html {
  const notes = [kindOf(schema), note, required === isAnswer && (isAnswer ? undefined : 'optional')];
  const words = [...notes, isAnswer && !required && 'may be absent', !isAnswer && required && 'required'];
  return html`<div>
    <dt><code>${name}</code> <span class="kind">${words.filter(Boolean).join(', ')}</span></dt>
    <dd>${description === undefined ? undefined : inline(description)}</dd>
  </div>`;
}

/** What a value may be, in a few words. */
function kindOf({
  type,
  format,
  enum: words,
  const: only,
  items,
  minimum,
  maximum,
  maxLength,
}: Schema): string {
  if (only !== undefined) return `"${only}"`;
  if (words) return words.map((word) => `"${word}"`).join(' or ');
  if (items) return 'list';
  if (type === undefined) return 'any JSON';
  const types = (typeof type === 'string' ? [type] : type).map((one) =>
    one === 'string' ? (format ?? one) : one,
  );
  const bounds = [
    maxLength !== undefined && `at most ${maxLength} characters`,
    maximum !== undefined && `${minimum ?? 0} to ${maximum}`,
  ];
  return [types.join(' or '), ...bounds.filter(Boolean)].join(', ');
}

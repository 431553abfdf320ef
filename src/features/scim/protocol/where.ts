import type { SelectQueryBuilder } from 'typeorm';
import { UUID } from '../../../platform/http/parameters/uuid.js';
import type { Comparison, ParsedFilter } from './filter.js';
import { attributeNamed, type ResourceKind } from './names.js';
import { invalid } from './scim-error.js';

/** How an attribute is compared in SQL. */
export type Column =
  | { readonly kind: 'id'; readonly sql: string }
  | { readonly kind: 'boolean'; readonly sql: string }
  /** `isKey`: the column is in lower case. */
  | { readonly kind: 'text'; readonly sql: string; readonly isKey: boolean }
  /** The value filter of a list, with the values that its parts must have. */
  | {
      readonly kind: 'list';
      readonly condition: (parts: Readonly<Record<string, string>>, bind: Bind) => string | undefined;
    };

/** Returns a placeholder for a value. */
type Bind = (value: unknown) => string;

/**
 * Adds a filter to a query. Each comparison is a condition with parameters.
 * @throws ScimError `invalidFilter` for an attribute that has no column, or a comparison that it has not
 */
export function applyFilter<Row extends object>(
  query: SelectQueryBuilder<Row>,
  filter: ParsedFilter,
  kind: ResourceKind,
  columns: Readonly<Record<string, Column>>,
): void {
  let number = 0;
  const bind: Bind = (value) => {
    const name = `filter${++number}`;
    query.setParameter(name, value);
    return `:${name}`;
  };
  const columnOf = (path: string): { column: Column; sub: string | undefined } => {
    const target = attributeNamed(kind, path);
    const column = target && Object.hasOwn(columns, target.name) ? columns[target.name] : undefined;
    if (!column) throw refuse('the filter names an attribute that cannot be filtered');
    return { column, sub: target?.sub };
  };
  const visit = (one: ParsedFilter): string => {
    switch (one.op) {
      case 'and':
        return joined(withParts(one.filters).map(visit), 'AND');
      case 'or':
        return joined(one.filters.map(visit), 'OR');
      case 'not':
        return `(${visit(one.filter)}) IS NOT TRUE`;
      case '[]': {
        const { column } = columnOf(one.attrPath);
        if (column.kind !== 'list') throw refuse('the attribute has no parts');
        return `(${alternatives(one.valFilter, one.attrPath, kind, column, bind)})`;
      }
      case 'pr': {
        const { column } = columnOf(one.attrPath);
        if (column.kind === 'list') throw refuse('this comparison is not supported for the attribute');
        return `${column.sql} IS NOT NULL`;
      }
      default: {
        const { column, sub } = columnOf(one.attrPath);
        if (column.kind !== 'list') return compared(column, one, bind);
        if (one.op !== 'eq' || typeof one.compValue !== 'string') throw refuse(UNSUPPORTED);
        return column.condition({ [sub ?? 'value']: one.compValue }, bind) ?? unsupported();
      }
    }
  };
  query.andWhere(`(${visit(filter)})`);
}

const UNSUPPORTED = 'this comparison is not supported for the attribute';

function unsupported(): never {
  throw refuse(UNSUPPORTED);
}

function joined(conditions: readonly string[], word: 'AND' | 'OR'): string {
  return `(${conditions.join(` ${word} `)})`;
}

/** `emails[type eq "work"].value eq "a"`: the library makes two conditions, which are about one entry. */
function withParts(filters: readonly ParsedFilter[]): readonly ParsedFilter[] {
  const [first, second, ...others] = filters;
  if (first?.op !== '[]' || !second || !('attrPath' in second) || second.op === '[]') return filters;
  const prefix = `${first.attrPath}.`;
  if (!second.attrPath.startsWith(prefix)) return filters;
  const part = { ...second, attrPath: second.attrPath.slice(prefix.length) };
  return [{ ...first, valFilter: { op: 'and', filters: [first.valFilter, part] } }, ...others];
}

/** `or` of conditions about one entry each. */
function alternatives(
  filter: ParsedFilter,
  attribute: string,
  kind: ResourceKind,
  column: Extract<Column, { kind: 'list' }>,
  bind: Bind,
): string {
  const all = filter.op === 'or' ? filter.filters : [filter];
  const conditions = all.map((one) => {
    const parts: Record<string, string> = {};
    const collect = (part: ParsedFilter): void => {
      if (part.op === 'and') part.filters.forEach(collect);
      else if (part.op === 'eq' && typeof part.compValue === 'string') {
        const name = attributeNamed(kind, `${attribute}.${part.attrPath}`)?.sub;
        if (name === undefined || Object.hasOwn(parts, name)) throw refuse(UNSUPPORTED);
        parts[name] = part.compValue;
      } else throw refuse(UNSUPPORTED);
    };
    collect(one);
    return column.condition(parts, bind) ?? unsupported();
  });
  return conditions.join(' OR ');
}

const SIGNS: Readonly<Record<string, string>> = { gt: '>', ge: '>=', lt: '<', le: '<=' };

function compared(
  column: Exclude<Column, { kind: 'list' }>,
  { op, compValue }: Comparison,
  bind: Bind,
): string {
  if (column.kind === 'boolean') {
    const text = String(compValue).toLowerCase();
    if ((text !== 'true' && text !== 'false') || (op !== 'eq' && op !== 'ne')) throw refuse(UNSUPPORTED);
    return `${column.sql} = ${bind((text === 'true') === (op === 'eq'))}`;
  }
  if (compValue === null && (op === 'eq' || op === 'ne')) {
    return `${column.sql} IS ${op === 'eq' ? '' : 'NOT '}NULL`;
  }
  if (typeof compValue !== 'string') throw refuse('the value must be a text');
  if (column.kind === 'id') {
    if (op !== 'eq' && op !== 'ne') throw refuse(UNSUPPORTED);
    const id = UUID.test(compValue) ? compValue : undefined;
    if (id === undefined) return op === 'eq' ? 'FALSE' : 'TRUE';
    return `${column.sql} ${op === 'eq' ? '=' : '<>'} ${bind(id)}`;
  }
  const value = `CAST(${bind(column.isKey ? compValue.toLowerCase() : compValue)} AS text)`;
  switch (op) {
    case 'eq':
      return `${column.sql} = ${value}`;
    case 'ne':
      return `${column.sql} IS DISTINCT FROM ${value}`;
    case 'co':
      return `strpos(${column.sql}, ${value}) > 0`;
    case 'sw':
      return `starts_with(${column.sql}, ${value})`;
    case 'ew':
      return `right(${column.sql}, length(${value})) = ${value}`;
    default:
      return `${column.sql} ${SIGNS[op]} ${value}`;
  }
}

function refuse(message: string): Error {
  return invalid('invalidFilter', message);
}

/**
 * A thing that a version promises: a member, a setting, a name. All members are optional: a name may say
 * everything.
 */
export interface Entry {
  /** A caller must send it. */
  readonly required?: true;
  /** It is never absent. */
  readonly always?: true;
  /** Of requests and answers: alternatives with `|` between them. */
  readonly type?: string;
  readonly default?: string;
  readonly pattern?: string;
  readonly min?: number;
  readonly max?: number;
  /** What is accepted, or may occur. */
  readonly values?: readonly string[];
  /** What must be set with it. */
  readonly needs?: readonly string[];
  /** Types of parameters; an optional one begins with `?`, the rest of them with `...`. */
  readonly params?: readonly string[];
}

/** What a version promises: things by name, in sections. */
export type Surface = Readonly<Record<string, Readonly<Record<string, Entry>>>>;

/**
 * Compares two surfaces. Additions are no break, unless a caller must know of them.
 * @returns what is gone or narrower, by `<section>: <name>`
 */
export function findBreaks(before: Surface, now: Surface): ReadonlyMap<string, string> {
  const breaks = new Map<string, string>();
  const given = typesGiven(before['exports'] ?? {});
  for (const section of Object.keys({ ...before, ...now })) {
    const [old, present] = [before[section] ?? {}, now[section] ?? {}];
    for (const name of Object.keys({ ...old, ...present }).toSorted()) {
      const found = changeOf(section, name, old[name], present[name], given);
      const [parentSection, parent] = parentOf(section, name);
      const wasThere = parent === undefined || before[parentSection]?.[parent] !== undefined;
      const isThere = parent === undefined || now[parentSection]?.[parent] !== undefined;
      // members of what is gone, or of what is new, need no line
      if (found !== undefined && wasThere && isThere) breaks.set(`${section}: ${name}`, found);
    }
  }
  return breaks;
}

/** @returns what has become narrower; undefined: nothing */
function changeOf(
  section: string,
  name: string,
  old: Entry | undefined,
  now: Entry | undefined,
  given: ReadonlySet<string>,
): string | undefined {
  if (!now) return 'is gone';
  const isGiven = section === 'exports' && given.has(typeOf(name));
  if (!old) return now.required || (isGiven && now.always) ? 'is new and required' : undefined;
  const found = [
    now.required && !old.required && 'is required now',
    isGiven
      ? now.always && !old.always && 'is required now'
      : old.always && !now.always && 'may be absent now',
    isOtherType(section, old.type, now.type) && `was ${old.type}, is ${now.type}`,
    now.default !== old.default && `has the default ${now.default}, had ${old.default}`,
    now.pattern !== undefined &&
      now.pattern !== old.pattern &&
      `has the pattern ${now.pattern}, had ${old.pattern}`,
    (now.min ?? -Infinity) > (old.min ?? -Infinity) && `is at least ${now.min}, was ${old.min}`,
    (now.max ?? Infinity) < (old.max ?? Infinity) && `is at most ${now.max}, was ${old.max}`,
    ...without(old.values, now.values).map((value) => `has no ${value} any more`),
    now.values && !old.values && section !== 'answers' && `is one of ${now.values.join(', ')} only`,
    ...without(now.needs, old.needs ?? []).map((value) => `needs ${value}`),
    isNarrower(old.params, now.params) &&
      `takes (${now.params?.join(', ')}), took (${old.params?.join(', ')})`,
  ].filter((text) => typeof text === 'string');
  return found.length > 0 ? found.join('; ') : undefined;
}

function without(all: readonly string[] = [], known: readonly string[] | undefined): readonly string[] {
  return known ? all.filter((value) => !known.includes(value)) : [];
}

/** A request may take further types, and an answer may have fewer. */
function isOtherType(section: string, old: string | undefined, now: string | undefined): boolean {
  if (old === now || now === undefined) return false;
  const [before, after] = [old?.split('|') ?? [], now.split('|')];
  if (section === 'requests' && old !== undefined) return without(before, after).length > 0;
  if (section === 'answers') return without(after, before).length > 0;
  return true;
}

/** Parameters may become optional, and further optional ones may follow. */
function isNarrower(old: readonly string[] | undefined, now: readonly string[] | undefined): boolean {
  if (!old || !now) return old !== now;
  const fits = old.every((type, index) => now[index] === type || now[index] === `?${type}`);
  return !fits || !now.slice(old.length).every((type) => /^\?|^\.\.\./.test(type));
}

/** Returns the endpoint, object or export to which something belongs. */
function parentOf(section: string, name: string): readonly [section: string, name?: string | undefined] {
  if (section === 'exports') return [section, ownerOf(name) === name ? undefined : ownerOf(name)];
  if (section !== 'requests' && section !== 'answers') return [section];
  const [, head, path] = /^(\S+ \S+(?: \d+)?) (\S.*)$/.exec(name)!;
  const cut = path!.lastIndexOf('.');
  if (cut > 0) return [section, `${head} ${path!.slice(0, cut).replace(/(\[\])+$/, '')}`];
  return ['endpoints', head!.split(' ', 2).join(' ')];
}

/** `module Name` of `module Name.member`. */
function ownerOf(name: string): string {
  const [module, path] = name.split(' ') as [string, string];
  return `${module} ${path.split('.', 1)[0]}`;
}

/**
 * Returns the exported types that applications make, such as options: a new member of them must be optional.
 * A type that the packages make as well may have new members.
 */
function typesGiven(exports: Surface[string]): ReadonlySet<string> {
  const entries = Object.entries(exports);
  const [given, made] = [new Set<string>(), new Set<string>()];
  const reach = (text: string, isGiven: boolean): void => {
    // without the parameters of callbacks, which go the other way
    for (const word of text.replaceAll(/\([^()]*\) =>/g, '').match(/[A-Z]\w*/g) ?? []) {
      const reached = isGiven ? given : made;
      // an application that gives a client back has not made it
      if (reached.has(word) || made.has(word)) continue;
      reached.add(word);
      for (const [name, { type = '', params = [] }] of entries) {
        if (typeOf(name) !== word) continue;
        reach(type, isGiven);
        reach(params.join(), !isGiven);
      }
    }
  };
  const functions = entries.filter(([name, { params }]) => params && name === ownerOf(name));
  for (const [name, { type }] of entries) if (type === 'class') reach(typeOf(name), false);
  for (const [, { type = '' }] of functions) reach(type, false);
  for (const [, { params = [] }] of functions) reach(params.join(), true);
  return new Set([...given].filter((name) => !made.has(name)));
}

function typeOf(name: string): string {
  return ownerOf(name).split(' ')[1]!;
}

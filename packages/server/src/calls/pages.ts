import { temporarilyUnavailable } from '../latchkey-error.js';
import type { ServiceCalls } from './service-calls.js';
import type { Right } from './service-key.js';

/** Loads the page at a cursor; without one, the first. */
type Load<Page> = (cursor: string | undefined) => Promise<Page>;

/**
 * A list that the service sends in pages. `await` loads one page; `for await` goes through the entries of all pages, and loads each page
 * when the loop reaches it.
 */
export class Pages<Page extends { readonly next_cursor?: string }, Entry>
  implements PromiseLike<Page>, AsyncIterable<Entry>
{
  constructor(
    private readonly load: Load<Page>,
    private readonly entriesOf: (page: Page) => readonly Entry[],
    private readonly cursor: string | undefined,
  ) {}

  // oxlint-disable-next-line unicorn/no-thenable -- `await` loads a page: it is one
  then<Result = Page, Failure = never>(
    onLoaded?: ((page: Page) => Result | PromiseLike<Result>) | null,
    onFailed?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.load(this.cursor).then(onLoaded, onFailed);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Entry, void, undefined> {
    // A page may be empty and still have a cursor: the service bounds the work for a page.
    for (let cursor = this.cursor; ;) {
      const page = await this.load(cursor);
      yield* this.entriesOf(page);
      cursor = page.next_cursor;
      if (cursor === undefined) return;
    }
  }
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Returns the query of a URL, with its question mark; undefined members are left out. */
export function queryOf(query: Query): string {
  const defined = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(
    defined.map(([name, value]) => [name, String(value)] as [string, string]),
  ).toString();
  return text && `?${text}`;
}

/** Returns the pages of a list. */
export function pagesOf<Page extends { readonly next_cursor?: string }, Entry>(
  calls: ServiceCalls,
  path: string,
  right: Right,
  query: Query,
  entriesOf: (page: Page) => readonly Entry[],
): Pages<Page, Entry> {
  const { cursor, ...conditions } = query;
  const load = async (at: string | undefined): Promise<Page> => {
    const page = await calls.send<Page>(path + queryOf({ ...conditions, cursor: at }), {
      method: 'GET',
      right,
      isRepeatable: true,
    });
    // oxlint-disable-next-line typescript/no-unnecessary-condition -- an answer of another program
    if (!Array.isArray(entriesOf(page))) throw temporarilyUnavailable(new Error('the answer is no page'));
    return page;
  };
  return new Pages(load, entriesOf, cursor as string | undefined);
}

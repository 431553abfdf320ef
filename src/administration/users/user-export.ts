import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { AuditEvent } from '../../audit/audit-event.js';
import { AuditSearch } from '../../audit/search/audit-search.js';
import { ConcurrencyLimit } from '../../database/limits.js';
import { DeviceService } from '../../device/device.service.js';
import type { DeviceView } from '../../device/devices.dto.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { SessionService } from '../../token/sessions/session.service.js';
import type { SessionView } from '../../token/sessions/sessions.dto.js';
import { UserDirectory } from './user-directory.js';
import type { UserExport } from './user-export.dto.js';
import { toClaimsOfUser, type UserView } from './users.dto.js';
import { UsersService } from './users.service.js';

/** Documents that an instance writes at a time: each holds about two pages in memory. */
const MOST_EXPORTS = 10;
/** The largest documents have some 20 MB: enough for a connection of 400 kbit/s. */
const LONGEST_MS = 10 * 60_000;

/** Newest audit events of a document, and of a page. */
const MOST_EVENTS = 10_000;
const EVENTS = 1000;

type Part = Exclude<keyof UserExport, 'exported_at' | 'user' | 'claims'>;

/**
 * Writes what is stored of a user as one JSON document (docs/support.md#data-of-a-user). It reads page by
 * page, and only as fast as the reader: a slow one holds no connection to the database.
 */
@Injectable()
export class UserExports {
  private open = 0;
  /** Requests find a connection, also if there are many exports. */
  private readonly readings = new ConcurrencyLimit(2);

  constructor(
    private readonly directory: UserDirectory,
    private readonly users: UsersService,
    private readonly devices: DeviceService,
    private readonly sessions: SessionService,
    private readonly audit: AuditSearch,
  ) {}

  /**
   * Begins a document. If a page cannot be read, the stream fails, so that no cut document looks complete.
   * @throws OAuthError `not_found`, `slow_down` if the instance writes too many
   */
  async begin(userId: string): Promise<Readable> {
    if (this.open >= MOST_EXPORTS)
      throw new OAuthError('slow_down', 'too many exports at a time', { headers: { 'Retry-After': '5' } });
    this.open++;
    try {
      const exported_at = new Date();
      const user = await this.directory.find(userId);
      const claims = toClaimsOfUser(await this.users.claims(userId));
      const head = JSON.stringify({ exported_at, user, claims } satisfies Omit<UserExport, Part>);
      return this.limited(Readable.from(this.write(head, user), { objectMode: false }));
    } catch (error) {
      this.open--;
      throw error;
    }
  }

  private limited(document: Readable): Readable {
    const end = setTimeout(() => document.destroy(new Error('the export took too long')), LONGEST_MS).unref();
    document.once('close', () => {
      clearTimeout(end);
      this.open--;
    });
    return document;
  }

  private async *write(head: string, user: UserView): AsyncGenerator<string> {
    const { user_id } = user;
    yield head.slice(0, -1);
    yield* list(
      'devices',
      this.pages<DeviceView>((last) => this.devices.listBehind(user_id, last?.device_id)),
    );
    yield* list(
      'sessions',
      this.pages<SessionView>((last) => this.sessions.listBehind(user, last?.session_id)),
    );
    let older: string | undefined;
    yield* list(
      'audit_events',
      this.events(user_id, (cursor) => (older = cursor)),
    );
    yield `${member('has_older_events')}${older !== undefined}}`;
  }

  /** Reads pages until one is empty. */
  private async *pages<Entry>(read: (last?: Entry) => Promise<Entry[]>): AsyncGenerator<Entry[]> {
    let page = await this.readings.run(() => read());
    while (page.length > 0) {
      yield page;
      const last = page.at(-1);
      page = await this.readings.run(() => read(last));
    }
  }

  /** @param onPage gets the cursor of the next page, if there is one */
  private async *events(
    user_id: string,
    onPage: (cursor: string | undefined) => void,
  ): AsyncGenerator<AuditEvent[]> {
    let cursor: string | undefined;
    for (let left = MOST_EVENTS; left > 0;) {
      const query = {
        user_id,
        limit: String(Math.min(left, EVENTS)),
        ...(cursor !== undefined && { cursor }),
      };
      const page = await this.readings.run(() => this.audit.find(query));
      cursor = page.next_cursor;
      onPage(cursor);
      yield page.events;
      if (cursor === undefined) return;
      left -= page.events.length;
    }
  }
}

async function* list(name: Part, pages: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  yield `${member(name)}[`;
  let comma = '';
  for await (const page of pages) {
    if (page.length === 0) continue;
    yield comma + JSON.stringify(page).slice(1, -1);
    comma = ',';
  }
  yield ']';
}

/** Begins a member that is not the first one. */
function member(name: Part): string {
  return `,"${name}":`;
}

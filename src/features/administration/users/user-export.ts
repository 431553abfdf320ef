import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { AuditEvent } from '../../../audit/audit-event.js';
import { AuditSearch } from '../../../audit/search/audit-search.js';
import { HeavyReads, tooManyReads, type ReadBy } from '../../../platform/database/heavy-reads.js';
import { DeviceService } from '../../../device/device.service.js';
import type { DeviceView } from '../../../device/devices.dto.js';
import { SessionService } from '../../../token/sessions/session.service.js';
import type { SessionView } from '../../../token/sessions/sessions.dto.js';
import { UserDirectory } from './user-directory.js';
import type { UserExport } from './user-export.dto.js';
import { UserStore } from '../../../user/user.store.js';
import { toClaimsOfUser, type UserView } from './users.dto.js';
import { UsersService } from './users.service.js';

/** Documents that an instance writes at a time, and one caller: each holds about two pages in memory. */
const MOST_EXPORTS = 10;
const MOST_OF_ONE = 4;
/** The largest documents have some 20 MB: enough for a connection of 400 kbit/s. */
const LONGEST_MS = 10 * 60_000;

/** Newest audit events of a document, and of a page. */
const MOST_EVENTS = 10_000;
const EVENTS = 1000;

type Part = Exclude<keyof UserExport, 'exported_at' | 'user' | 'identity' | 'further_identities' | 'claims'>;

/**
 * Writes what is stored of a user as one JSON document (docs/support.md#data-of-a-user). It reads page by
 * page, and only as fast as the reader: a slow one holds no connection to the database.
 */
@Injectable()
export class UserExports {
  /** Callers, once for each document. */
  private readonly open: string[] = [];

  constructor(
    private readonly directory: UserDirectory,
    private readonly users: UsersService,
    private readonly stored: UserStore,
    private readonly devices: DeviceService,
    private readonly sessions: SessionService,
    private readonly audit: AuditSearch,
    private readonly reads: HeavyReads,
  ) {}

  /**
   * Begins a document. If a page cannot be read, the stream fails, so that no cut document looks complete.
   * @throws OAuthError `not_found`, `slow_down` if the instance or the caller writes too many
   */
  async begin(userId: string, by: ReadBy): Promise<Readable> {
    const caller = JSON.stringify([by.type, by.name]);
    const own = this.open.filter((one) => one === caller);
    if (own.length >= MOST_OF_ONE || this.open.length >= MOST_EXPORTS) throw tooManyReads();
    this.open.push(caller);
    const close = (): void => void this.open.splice(this.open.indexOf(caller), 1);
    try {
      const exported_at = new Date();
      const user = await this.reads.run(by, () => this.directory.find(userId));
      const claims = toClaimsOfUser(await this.users.claims(userId));
      const identity = { ...(await this.stored.find(userId))?.identity };
      const further_identities = (await this.stored.findHidden(userId)).map((hidden) => ({
        user_id: hidden.userId,
        provider: hidden.provider,
        provider_user_id: hidden.providerUserId,
        username: hidden.username,
        email: hidden.email,
      }));
      const parts = { exported_at, user, identity, further_identities, claims };
      const head = JSON.stringify(parts satisfies Omit<UserExport, Part>);
      const document = Readable.from(this.write(head, user, by), { objectMode: false });
      const end = setTimeout(
        () => document.destroy(new Error('the export took too long')),
        LONGEST_MS,
      ).unref();
      return document.once('close', () => {
        clearTimeout(end);
        close();
      });
    } catch (error) {
      close();
      throw error;
    }
  }

  private async *write(head: string, user: UserView, by: ReadBy): AsyncGenerator<string> {
    const { user_id } = user;
    yield head.slice(0, -1);
    yield* list(
      'devices',
      this.pages<DeviceView>(by, (last) => this.devices.listBehind(user_id, last?.device_id)),
    );
    yield* list(
      'sessions',
      this.pages<SessionView>(by, (last) => this.sessions.listBehind(user, last?.session_id)),
    );
    let older: string | undefined;
    yield* list(
      'audit_events',
      this.events(by, user_id, (cursor) => (older = cursor)),
    );
    yield `${member('has_older_events')}${older !== undefined}}`;
  }

  /** Reads pages until one is empty. */
  private async *pages<Entry>(by: ReadBy, read: (last?: Entry) => Promise<Entry[]>): AsyncGenerator<Entry[]> {
    let page = await this.reads.runLater(by, () => read());
    while (page.length > 0) {
      yield page;
      const last = page.at(-1);
      page = await this.reads.runLater(by, () => read(last));
    }
  }

  /** @param onPage gets the cursor of the next page, if there is one */
  private async *events(
    by: ReadBy,
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
      const page = await this.reads.runLater(by, () => this.audit.find(query));
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

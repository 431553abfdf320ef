import { Not, type EntityManager, type FindOptionsWhere } from 'typeorm';
import { CachedReading } from '../../../platform/database/limits.js';
import type { DirectoryChange } from '../effect/directory-effects.js';
import type { Page, Projection } from '../protocol/list-query.js';
import type { ResourceKind } from '../protocol/names.js';
import { notUnique, ScimError } from '../protocol/scim-error.js';
import { applyFilter, type Column } from '../protocol/where.js';
import type { DirectoryUser } from '../users/directory-user.entity.js';

const COUNTED_MS = 30_000;

/** Columns that users and groups have in common. */
export interface ResourceRow {
  id: string;
  provider: string;
  externalId: string | null;
  createdAt: Date;
  changedAt: Date;
}

export type Body = Readonly<Record<string, unknown>>;

/** What a request has made of a resource. */
export interface Changed<Row> {
  readonly row: Row;
  /** For the audit trail; absent: all was so before. */
  readonly reason?: string;
  /** Users whom the change has reached; absent: nobody in particular. */
  readonly userIds?: readonly string[];
  /** The directory user, if it has another name than before, or is gone. */
  readonly renamed?: DirectoryUser | undefined;
}

/** What users and groups do each in their way. `Sent`: what a body says. */
export interface ResourceType<Row extends ResourceRow, Sent> {
  readonly rows: ResourceRows<Row>;
  read(body: Body): Sent;
  readPatch(body: Body): Sent;
  list(provider: string, page: Page, projection: Projection): Promise<[Row[], number]>;
  /** Returns the attributes of resources, without those that all have. */
  describe(base: string, rows: readonly Row[], projection: Projection): Promise<readonly object[]>;
  create(change: DirectoryChange, sent: Sent): Promise<Changed<Row>>;
  /** @param isFull whether the directory may not grow */
  update(change: DirectoryChange, before: Row, sent: Sent, isFull: boolean): Promise<Changed<Row>>;
  remove(change: DirectoryChange, before: Row): Promise<Changed<Row>>;
}

interface Table<Row extends ResourceRow> {
  readonly kind: ResourceKind;
  readonly entity: new () => Row;
  /** Attributes that a filter may name. */
  readonly columns: Readonly<Record<string, Column>>;
  /** Condition of the rows that requests find. */
  readonly present?: Partial<Row>;
  readonly count: (provider: string) => Promise<number>;
  /** Rows of one provider. */
  readonly most: number;
  /** What the most are, for the error. */
  readonly counted: string;
}

/** Rows of one kind of resources, of all providers. */
export class ResourceRows<Row extends ResourceRow> {
  private readonly counts = new Map<string, CachedReading<number>>();

  constructor(
    private readonly manager: EntityManager,
    private readonly table: Table<Row>,
  ) {}

  async find(provider: string, id: string): Promise<Row | undefined> {
    return (await this.manager.findOneBy(this.table.entity, this.where({ provider, id }))) ?? undefined;
  }

  /** Locks a row for a change, so that concurrent changes follow each other. */
  async lock(manager: EntityManager, provider: string, id: string): Promise<Row | undefined> {
    const lock = { mode: 'for_no_key_update' } as const;
    const where = this.where({ provider, id });
    return (await manager.findOne(this.table.entity, { where, lock })) ?? undefined;
  }

  /** Stable order: the oldest first. @param columns all, or some of `one` */
  async list(
    provider: string,
    { filter, startIndex, count }: Page,
    columns = 'one',
  ): Promise<[Row[], number]> {
    const { entity, kind } = this.table;
    const query = this.manager.createQueryBuilder(entity, 'one').where(this.where({ provider }));
    if (filter) applyFilter(query, filter, kind, this.table.columns);
    if (count === 0) return [[], await query.getCount()];
    query
      .select(columns)
      .orderBy('one.createdAt')
      .addOrderBy('one.id')
      .offset(startIndex - 1)
      .limit(count);
    return query.getManyAndCount();
  }

  /**
   * Checks what must be unique; the indexes decide between concurrent requests.
   * @param id of the row that may have these values
   * @throws ScimError `uniqueness`
   */
  async requireUnique(
    manager: EntityManager,
    { id, provider }: Pick<Row, 'id' | 'provider'>,
    { userNameKey, externalId }: { readonly userNameKey?: string; readonly externalId: string | null },
  ): Promise<void> {
    const values = Object.entries({ userNameKey, externalId }).filter(
      ([, value]) => (value ?? null) !== null,
    );
    const where = values.map(([name, value]) => this.where({ provider, id: Not(id), [name]: value }));
    const other = where.length > 0 ? await manager.findOneBy(this.table.entity, where) : null;
    if (other)
      throw notUnique(externalId !== null && other.externalId === externalId ? 'externalId' : 'userName');
  }

  /** Returns whether the directory may not grow; counts twice a minute. */
  async isFull(provider: string): Promise<boolean> {
    const { count, most } = this.table;
    const reading = this.counts.get(provider) ?? new CachedReading(() => count(provider), COUNTED_MS);
    this.counts.set(provider, reading);
    return (await reading.get()) >= most;
  }

  tooMany(): ScimError {
    return new ScimError(403, `a directory must not have more than ${this.table.most} ${this.table.counted}`);
  }

  async insert(manager: EntityManager, row: Omit<Row, 'createdAt' | 'changedAt'>): Promise<Row> {
    const { generatedMaps } = await manager.insert(this.table.entity, row as never);
    return Object.assign(new this.table.entity(), row, generatedMaps[0]);
  }

  /** @param times columns that are set to the present time, beside `changedAt` */
  async update(
    manager: EntityManager,
    before: Row,
    values: Partial<Row>,
    times: readonly (keyof Row)[] = [],
  ): Promise<Row> {
    const { entity } = this.table;
    const present = (time: unknown): object =>
      Object.fromEntries(['changedAt', ...times].map((name) => [name, time]));
    const { raw } = await manager
      .createQueryBuilder()
      .update(entity)
      .set({ ...values, ...present(() => 'now()') } as never)
      .where({ id: before.id })
      .returning('changed_at AS at')
      .execute();
    const [{ at }] = raw as [{ at: Date }];
    return Object.assign(new entity(), before, values, present(at));
  }

  private where(values: object): FindOptionsWhere<Row> {
    return { ...this.table.present, ...values } as FindOptionsWhere<Row>;
  }
}

import type { DataSource, EntityManager } from 'typeorm';
import { appendInSteps } from '../../channel/channel.history.citus.js';
import { PushWriter, type PushedEvent, type PushRow } from './push-writer.js';
import { LOCK_TARGET } from './push.sql.js';

/** Pushes on Citus: several statements in one transaction (see CitusChannelHistory). */
export class CitusPushWriter extends PushWriter {
  constructor(
    private readonly dataSource: DataSource,
    ...others: ConstructorParameters<typeof PushWriter>
  ) {
    super(...others);
  }

  protected override async store(event: PushedEvent, manager?: EntityManager): Promise<PushRow | undefined> {
    if (!manager) return this.dataSource.transaction((own) => this.store(event, own));
    const [target] = await manager.query<object[]>(LOCK_TARGET.text, [event.userId, event.deviceId]);
    if (!target) return undefined;
    const stored = { ...event, data: JSON.stringify(event.data) };
    return appendInSteps(manager, stored, this.settings.channelHistory);
  }
}

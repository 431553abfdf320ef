import type { Type } from '@nestjs/common';
import type { MigrationInterface } from 'typeorm';
import { StoredAuditEvent } from './audit/audit-event.entity.js';
import { Webhook } from './audit/webhooks/webhook.entity.js';
import { AuthorizationState } from './auth/states/authorization-state.entity.js';
import { AuthorizationCode } from './auth/clients/authorization-code.entity.js';
import { Channel, StoredChannelEvent } from './channel/channel-event.entity.js';
import { IdempotencyKey } from './channel/idempotency-key.entity.js';
import { Instance, Presence } from './channel/presence.entity.js';
import { Device } from './device/device.entity.js';
import { LogoutToken } from './token/sessions/logout-token.entity.js';
import { FEATURES } from './features.js';
import { Core1795824000000 } from './platform/database/migrations/1795824000000-core.js';
import * as joinedIdentities from './platform/database/migrations/1796000000000-joined-identities.js';
import { AccessToken } from './token/access-tokens/access-token.entity.js';
import { Session } from './token/sessions/session.entity.js';
import { SigningKey } from './token/keys/signing-key.entity.js';
import { User } from './user/user.entity.js';
import { UserWord } from './user/search/user-word.entity.js';
import { VoidClaims } from './user/void-claims.entity.js';

export { citus as cluster } from './citus/citus.js';

interface Part {
  readonly migrations: readonly Type<MigrationInterface>[];
  readonly entities: readonly Type[];
}

const core: Part = {
  migrations: [Core1795824000000, ...Object.values(joinedIdentities)],
  entities: [
    User,
    UserWord,
    VoidClaims,
    Device,
    Session,
    AccessToken,
    SigningKey,
    AuthorizationState,
    AuthorizationCode,
    LogoutToken,
    Channel,
    StoredChannelEvent,
    IdempotencyKey,
    Instance,
    Presence,
    StoredAuditEvent,
    Webhook,
  ],
};

const parts = [core];
// One after the other: Jest cannot load at once what imports the same modules.
for (const feature of FEATURES) {
  parts.push({
    migrations: Object.values((await feature.migrations?.()) ?? {}),
    entities: Object.values((await feature.entities?.()) ?? {}),
  });
}

/** All migrations. They run in the order of the times in their names. */
export const MIGRATIONS = parts.flatMap(({ migrations }) => migrations);

/** All entities, for the data source and for the test that compares them with the schema. */
export const ENTITIES = parts.flatMap(({ entities }) => entities);

/** Returns the entities without tables: none of the migrations of their part was applied. */
export function entitiesOf(pending: readonly string[]): typeof ENTITIES {
  return parts.flatMap(({ migrations, entities }) =>
    migrations.every(({ name }) => pending.includes(name)) ? entities : [],
  );
}

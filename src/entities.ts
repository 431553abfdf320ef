import { StoredAuditEvent } from './audit/audit-event.entity.js';
import { Webhook } from './audit/webhooks/webhook.entity.js';
import { AuthorizationState } from './auth/states/authorization-state.entity.js';
import { AuthorizationCode } from './auth/clients/authorization-code.entity.js';
import { Channel, StoredChannelEvent } from './channel/channel-event.entity.js';
import { IdempotencyKey } from './channel/idempotency-key.entity.js';
import { Instance, Presence } from './channel/presence.entity.js';
import { DeviceConfirmation } from './features/device-grant/page/device-confirmation.entity.js';
import { DeviceRequest } from './features/device-grant/requests/device-request.entity.js';
import { SessionFacts } from './features/device-grant/approval/session-facts.entity.js';
import { Device } from './device/device.entity.js';
import { LogoutToken } from './token/sessions/logout-token.entity.js';
import { ProviderCheck } from './features/recheck/provider-check.entity.js';
import { SampleCode } from './features/sample-provider/sample-code.entity.js';
import { DirectoryActivity } from './features/scim/activity/directory-activity.entity.js';
import { DirectoryName } from './features/scim/effect/directory-name.entity.js';
import { DirectorySource } from './features/scim/effect/directory-source.entity.js';
import { DirectoryTask } from './features/scim/effect/directory-task.entity.js';
import { DirectoryGroup } from './features/scim/groups/directory-group.entity.js';
import { DirectoryMember } from './features/scim/groups/directory-member.entity.js';
import { DirectoryFormerName } from './features/scim/users/directory-former-name.entity.js';
import { DirectoryUser } from './features/scim/users/directory-user.entity.js';
import { SignalAccount } from './features/provider-events/effect/signal-account.entity.js';
import { SignalSubject } from './features/provider-events/effect/signal-subject.entity.js';
import { AccessToken } from './token/access-tokens/access-token.entity.js';
import { Session } from './token/sessions/session.entity.js';
import { SigningKey } from './token/keys/signing-key.entity.js';
import { User } from './user/user.entity.js';
import { UserWord } from './user/user-word.entity.js';
import { VoidClaims } from './user/void-claims.entity.js';

/** All entities, for the data source and for the test that compares them with the schema. */
export const ENTITIES = [
  User,
  UserWord,
  VoidClaims,
  Device,
  Session,
  AccessToken,
  SigningKey,
  AuthorizationState,
  SampleCode,
  AuthorizationCode,
  LogoutToken,
  Channel,
  StoredChannelEvent,
  IdempotencyKey,
  Instance,
  Presence,
  StoredAuditEvent,
  ProviderCheck,
  Webhook,
  DirectoryUser,
  DirectoryFormerName,
  DirectoryGroup,
  DirectoryMember,
  DirectoryName,
  DirectorySource,
  DirectoryTask,
  DeviceRequest,
  DeviceConfirmation,
  SessionFacts,
  DirectoryActivity,
  SignalSubject,
  SignalAccount,
];

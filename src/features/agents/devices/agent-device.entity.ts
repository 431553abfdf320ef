import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { OfUser } from '../../../platform/database/of-user.js';
import type { StoredAuthentication } from '../clients/client-authentication.js';

declare module '../../../user/user-lifecycle.js' {
  interface DeviceStates {
    /** `DeviceView.agent`. */
    readonly agent?: {
      readonly client_id: string;
      readonly client_name: string;
      readonly resource: string;
      readonly scope: string;
      readonly allowed_at: Date;
      /** Absent: the user. */
      readonly allowed_by?: string;
    };
  }
  interface DeviceListStates {
    /** `OwnDeviceList.has_refused_programs`. */
    readonly has_refused_programs?: true;
  }
}

/** Program that acts for a user: a device of the user, which stays listed after its session has ended. */
@OfUser(true)
@Entity('agent_devices')
@Index('agent_devices_client', ['clientId', 'resource'])
export class AgentDevice {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  /** See `programDeviceId`. */
  @PrimaryColumn('uuid', { name: 'device_id' })
  deviceId!: string;

  /** The only session that may refresh; a new consent replaces it. */
  @Column('uuid', { name: 'session_id' })
  sessionId!: string;

  @Column('text', { name: 'client_id' })
  clientId!: string;

  @Column('text', { name: 'client_name' })
  clientName!: string;

  /** As AGENTS_FILE wrote it at the consent. */
  @Column('text')
  resource!: string;

  /** Separated by spaces, as the user has allowed them. */
  @Column('text')
  scope!: string;

  /** How the program authenticated at the consent, which holds for the session. */
  @Column('jsonb')
  authentication!: StoredAuthentication;

  /** Provider that has allowed it; null: the user has. */
  @Column('text', { nullable: true })
  provider!: string | null;

  /**
   * When a person has ended what the provider has allowed: it stays away, also after the removal of the
   * device; null: it may come back.
   */
  @Column('timestamptz', { name: 'refused_at', nullable: true })
  refusedAt!: Date | null;

  @Column('timestamptz', { name: 'allowed_at' })
  allowedAt!: Date;

  /** End of the session at the latest. */
  @Column('timestamptz', { name: 'ends_at' })
  endsAt!: Date;
}

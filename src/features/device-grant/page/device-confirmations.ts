import { Injectable } from '@nestjs/common';
import { DataSource, Raw } from 'typeorm';
import type { Verified } from '../../../extensions.js';
import { SealedIdentities } from '../../../auth/sealed-identities.js';
import { DeviceCodes } from '../requests/codes.js';
import { DeviceConfirmation } from './device-confirmation.entity.js';

export interface Confirmation {
  readonly requestId: string;
  readonly verified: Verified;
}

/** Sign-ins on the page that wait for the answer of the person, by the secret in the browser's cookie. */
@Injectable()
export class DeviceConfirmations {
  constructor(
    private readonly dataSource: DataSource,
    private readonly codes: DeviceCodes,
    private readonly identities: SealedIdentities,
  ) {}

  /** @param until when the codes of the request expire */
  async save(secret: string, requestId: string, verified: Verified, until: Date): Promise<void> {
    const secretHash = this.codes.hashSecret(secret);
    const row = { secretHash, requestId, expiresAt: until, ...this.identities.seal(verified, requestId) };
    await this.dataSource.manager.upsert(DeviceConfirmation, row, ['secretHash']);
  }

  async find(secret: string): Promise<Confirmation | undefined> {
    const where = { secretHash: this.codes.hashSecret(secret), expiresAt: Raw((at) => `${at} > now()`) };
    const row = await this.dataSource.manager.findOneBy(DeviceConfirmation, where);
    return row === null
      ? undefined
      : { requestId: row.requestId, verified: this.identities.open(row, row.requestId) };
  }

  async remove(secret: string): Promise<void> {
    await this.dataSource.manager.delete(DeviceConfirmation, { secretHash: this.codes.hashSecret(secret) });
  }
}

import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Request, Response } from 'express';
import type { Repository } from 'typeorm';
import { Background } from '../../../platform/background.js';
import { Clock } from '../../../platform/database/clock.js';
import { printable } from '../../../platform/errors/printable.js';
import { DirectoryActivity } from './directory-activity.entity.js';

const LONGEST = 200;

type Seen = Pick<DirectoryActivity, 'provider' | 'requestedAt' | 'request'> & Partial<DirectoryActivity>;

/**
 * Remembers the last request of each directory, and the last one that was refused. They are written once a
 * second at most, not with each request.
 */
@Injectable()
export class DirectoryActivities implements OnModuleInit {
  private readonly seen = new Map<string, Seen>();

  constructor(
    @InjectRepository(DirectoryActivity) private readonly activities: Repository<DirectoryActivity>,
    private readonly clock: Clock,
    private readonly background: Background,
  ) {}

  onModuleInit(): void {
    this.background.repeat('write-directory-activity', () => this.write());
  }

  /** @param path below the base address, without the query: filters name people */
  watch(provider: string, { method }: Request, path: string, response: Response): void {
    const request = printable(`${method} ${path}`, LONGEST);
    response.once('finish', () => {
      const at = new Date(this.clock.now());
      const { statusCode: status } = response;
      const { scimType = null, message: detail = '' } = response.locals.scimError ?? {};
      this.seen.set(provider, {
        ...this.seen.get(provider),
        provider,
        requestedAt: at,
        request,
        ...(status >= 400 && { failedAt: at, failure: { request, status, scimType, detail } }),
      });
    });
  }

  /** What was seen during a failure of the database is dropped. */
  private async write(): Promise<void> {
    const all = [...this.seen.values()];
    this.seen.clear();
    for (const one of all) await this.activities.upsert(one, ['provider']);
  }
}

import { Reflector } from '@nestjs/core';

/** Marks an entity whose rows mean nothing in another database: copies and backups leave them out. */
export const Transient = Reflector.createDecorator();

import { Reflector } from '@nestjs/core';

/** Marks an entity with rows that mean nothing in another database: copies and backups leave them out. */
export const Transient = Reflector.createDecorator();

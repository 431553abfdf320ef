import { Reflector } from '@nestjs/core';

/**
 * Marks an entity: of a distributed database, every node has all of its few rows. Other tables are
 * distributed by the first column of their key.
 */
export const ReferenceTable = Reflector.createDecorator();

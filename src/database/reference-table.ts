import { Reflector } from '@nestjs/core';

/**
 * Marks an entity: on a Citus cluster, every node has all of its few rows. The tables of all other entities are spread by the
 * first column of their primary key (`npm run distribute`).
 */
export const ReferenceTable = Reflector.createDecorator();

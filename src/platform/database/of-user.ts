import { Reflector } from '@nestjs/core';
import type { EntityManager } from 'typeorm';

/** Marks an entity: the rows of a removed user are deleted, also while its feature is off. @public */
export const OfUser = Reflector.createDecorator<true>();

/** Deletes the rows of a removed user in the tables of entities with `@OfUser`. */
export async function deleteRowsOf(manager: EntityManager, userId: string): Promise<void> {
  for (const { target } of manager.connection.entityMetadatas) {
    if (typeof target !== 'function' || !Reflect.hasMetadata(OfUser.KEY, target)) continue;
    await manager.delete(target, { userId });
  }
}

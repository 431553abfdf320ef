import { Reflector } from '@nestjs/core';

/** Marks an entity with few rows: every node has all; other tables are spread by their key's first column. */
export const ReferenceTable = Reflector.createDecorator();

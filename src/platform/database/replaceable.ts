import type { Abstract, FactoryProvider, Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { DataSource } from 'typeorm';

/** By store: the class that replaces it on a distributed database. */
export type Replacements = ReadonlyMap<unknown, Type>;
export const REPLACEMENTS = Symbol('REPLACEMENTS');

/** Database whose tables are distributed over several nodes. */
export interface Cluster {
  isUsed(dataSource: DataSource): Promise<boolean>;
  /** Imports the stores. */
  replacements(): Promise<Replacements>;
}

/** Provides a store, or what replaces it on a distributed database. @param usual if `store` is abstract */
export function replaceable<Store>(
  store: Type<Store> | Abstract<Store>,
  usual = store as Type<Store>,
): FactoryProvider<Store> {
  return {
    provide: store,
    inject: [ModuleRef, REPLACEMENTS],
    useFactory: (module: ModuleRef, replacements: Replacements) =>
      module.create((replacements.get(store) ?? usual) as Type<Store>),
  };
}

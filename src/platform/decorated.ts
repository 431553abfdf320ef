import type { DiscoverableDecorator, DiscoveryService } from '@nestjs/core';

export interface Decorated<Said, Instance> {
  /** What the decorator says. */
  readonly said: Said;
  readonly instance: Instance;
}

/** Returns the providers with a decorator of `DiscoveryService`, by the names of their classes. */
export function decorated<Said, Instance>(
  discovery: DiscoveryService,
  decorator: DiscoverableDecorator<Said>,
): readonly Decorated<Said, Instance>[] {
  return discovery
    .getProviders({ metadataKey: decorator.KEY })
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((wrapper) => ({
      said: discovery.getMetadataByDecorator(decorator, wrapper) as Said,
      instance: wrapper.instance as Instance,
    }));
}

import type { INestApplicationContext, Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { GATEWAY_METADATA, MESSAGE_MAPPING_METADATA } from '@nestjs/websockets/internal';

const HOOKS = ['handleConnection', 'handleDisconnect'];

/**
 * Refuses an application with a gateway that waits for what SocketServerAdapter does not bind: it would stay deaf, and nobody
 * would know. That is Nest's own list: methods with `@SubscribeMessage`, and the two hooks.
 *
 * @throws Error one line that names each gateway and method
 */
export function checkGateways(app: INestApplicationContext): void {
  const gateways = app
    .get(DiscoveryService)
    .getProviders()
    .filter(({ metatype }) => metatype && Reflect.hasMetadata(GATEWAY_METADATA, metatype));
  const deaf = gateways.flatMap(({ metatype, instance }) =>
    listenersOf(instance as object).map((method) => `${(metatype as Type).name}.${method}()`),
  );
  if (deaf.length === 0) return;
  throw new Error(
    `${deaf.join(', ')} would never be called: of gateways only afterInit is. ` +
      "Listen there with server.on('connection', (socket) => …), or inject RealtimeService to send",
  );
}

function listenersOf(gateway: object): string[] {
  const methods = Object.getPrototypeOf(gateway) as Record<string, object>;
  const subscribed = new MetadataScanner()
    .getAllMethodNames(methods)
    .filter((name) => Reflect.hasMetadata(MESSAGE_MAPPING_METADATA, methods[name]!));
  return [...subscribed, ...HOOKS.filter((hook) => hook in gateway)];
}

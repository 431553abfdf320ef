import type { INestApplicationContext, Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { GatewayMetadata } from '@nestjs/websockets';
import {
  GATEWAY_METADATA,
  GATEWAY_OPTIONS,
  MESSAGE_MAPPING_METADATA,
  PORT_METADATA,
} from '@nestjs/websockets/internal';

const HOOKS = ['handleConnection', 'handleDisconnect'];

/**
 * Refuses an application with a gateway that would not do what its author expects:
 * - one that hears nothing, because SocketServerAdapter does not bind its `@SubscribeMessage` methods or the two hooks;
 * - one that is open to everyone, because tokens are checked only on the server and namespace of RealtimeGateway.
 *
 * @throws Error with one line that names the gateways, and the methods
 */
export function checkGateways(app: INestApplicationContext): void {
  const gateways = app
    .get(DiscoveryService)
    .getProviders()
    .filter(({ metatype }) => metatype && Reflect.hasMetadata(GATEWAY_METADATA, metatype))
    .map(({ metatype, instance }) => ({ type: metatype as Type, instance: instance as object }));

  const open = gateways.filter(({ type }) => isElsewhere(type)).map(({ type }) => type.name);
  if (open.length > 0) {
    throw new Error(
      `${open.join(', ')}: nobody would judge who connects to a port, path or namespace of its own. ` +
        'Leave them out of @WebSocketGateway()',
    );
  }

  const deaf = gateways.flatMap(({ type, instance }) =>
    listenersOf(instance).map((method) => `${type.name}.${method}()`),
  );
  if (deaf.length > 0) {
    throw new Error(
      `${deaf.join(', ')} would never be called: of gateways only afterInit is. ` +
        "Listen there with server.on('connection', (socket) => …), or inject RealtimeService to send",
    );
  }
}

function isElsewhere(gateway: Type): boolean {
  const { path, namespace } = Reflect.getMetadata(GATEWAY_OPTIONS, gateway) as GatewayMetadata;
  const port = Reflect.getMetadata(PORT_METADATA, gateway) as number;
  return port !== 0 || path !== undefined || namespace !== undefined;
}

function listenersOf(gateway: object): string[] {
  const methods = Object.getPrototypeOf(gateway) as Record<string, object>;
  const subscribed = new MetadataScanner()
    .getAllMethodNames(methods)
    .filter((name) => Reflect.hasMetadata(MESSAGE_MAPPING_METADATA, methods[name]!));
  return [...subscribed, ...HOOKS.filter((hook) => hook in gateway)];
}

import { jest } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { SubscribeMessage, WebSocketGateway, type OnGatewayInit } from '@nestjs/websockets';
import type { Server, Socket } from 'socket.io';
import { AppModule } from '../../src/app.module.js';
import type { Admitted } from '../../src/realtime/admission/handshake.js';
import { createDatabase, type TestDatabase, unhurried } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { claimsOf, signIn } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';

class Notes {
  @SubscribeMessage('note')
  write(): void {}
}

@WebSocketGateway()
class NotesGateway extends Notes {}

@WebSocketGateway()
class ArrivalsGateway {
  handleConnection(): void {}
}

@WebSocketGateway()
class PartingsGateway {
  @SubscribeMessage('bye')
  answer(): void {}

  handleDisconnect = (): void => undefined;
}

@WebSocketGateway({ namespace: 'notes' })
class NamespaceGateway {}

@WebSocketGateway({ path: '/notes' })
class PathGateway {}

@WebSocketGateway(1)
class PortGateway {}

@WebSocketGateway()
class ListeningGateway implements OnGatewayInit {
  readonly heard: unknown[] = [];

  afterInit(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const { session } = socket.data as Admitted;
      socket.on('note', (text: unknown, done: () => void) => {
        this.heard.push([session.userId, text]);
        done();
      });
    });
  }
}

/** The whole service, with a gateway that somebody adds to it. */
describe('a gateway besides our own', () => {
  let database: TestDatabase;
  let provider: StubProvider;

  beforeAll(async () => {
    provider = await StubProvider.start();
    database = await createDatabase();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await provider?.close();
    await database?.drop();
  });

  function startWith(gateway: Type): Promise<TestService> {
    const complete = AppModule.with.bind(AppModule);
    jest.spyOn(AppModule, 'with').mockImplementation((settings) => {
      const module = complete(settings);
      return { ...module, providers: [...module.providers!, gateway] };
    });
    return startTestService({ ...provider.env(), DATABASE_URL: unhurried(database.url) });
  }

  it.each([
    ['a subscription that it inherits', NotesGateway, 'NotesGateway.write()'],
    ['a hook', ArrivalsGateway, 'ArrivalsGateway.handleConnection()'],
    ['several', PartingsGateway, 'PartingsGateway.answer(), PartingsGateway.handleDisconnect()'],
  ])('that would never be called stops the start, by name: %s', async (_what, gateway, names) => {
    const starting = startWith(gateway).then((service) => service.close());
    await expect(starting).rejects.toThrow(`${names} would never be called`);
  });

  it.each([
    ['namespace', NamespaceGateway],
    ['path', PathGateway],
    ['port', PortGateway],
  ])('where nobody would judge who connects stops the start: a %s of its own', async (_what, gateway) => {
    const starting = startWith(gateway).then((service) => service.close());
    await expect(starting).rejects.toThrow(`${gateway.name}: nobody would judge who connects`);
  });

  it('that listens to the server itself gets sockets with a valid token', async () => {
    const service = await startWith(ListeningGateway);
    try {
      const { access_token: token } = await signIn(service.url);
      const client = await SocketClient.connect(service.url, token);
      await client.socket.timeout(5000).emitWithAck('note', 'a note');
      expect(service.app.get(ListeningGateway).heard).toEqual([[claimsOf(token).sub, 'a note']]);
      client.close();
    } finally {
      await service.close();
    }
  });
});

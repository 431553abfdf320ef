import {
  Module,
  RequestMethod,
  type DynamicModule,
  type MiddlewareConsumer,
  type NestModule,
} from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module.js';
import { ChannelModule } from '../../channel/channel.module.js';
import { DeviceModule } from '../../device/device.module.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { ProviderModule } from '../../provider/provider.module.js';
import { TokenModule } from '../../token/token.module.js';
import { UserModule } from '../../user/user.module.js';
import { AgentRequests } from './authorize/agent-request.store.js';
import { AgentRoutes } from './authorize/agent-routes.middleware.js';
import { AgentAuthorizeController } from './authorize/authorize.controller.js';
import { AgentAuthorizations } from './authorize/authorize.service.js';
import { Consents } from './authorize/consents.service.js';
import { AgentClients } from './clients/agent-clients.js';
import { ClientAuthentication } from './clients/client-authentication.js';
import { ClientDocuments } from './clients/client-documents.js';
import { AgentDevices } from './devices/agent-device.store.js';
import { AgentSignIns } from './devices/agent-sign-ins.js';
import { Permissions } from './devices/permissions.js';
import { ProgramEnds } from './devices/program-ends.js';
import { AgentsFile, readAgentsFile } from './file/agents-file.js';
import { Assertions } from './id-jag/assertions.js';
import { IdJagGrant } from './id-jag/id-jag.grant.js';
import { idJagIssuers } from './id-jag/id-jag.settings.js';
import { RefusedProgramsController } from './id-jag/refused-programs.controller.js';
import { RefusedPrograms } from './id-jag/refused-programs.store.js';
import { SharedSessions } from './id-jag/shared-sessions.js';
import { ProgramsController } from './support/programs.controller.js';
import { AgentCodeGrant } from './tokens/agent-code.grant.js';
import { AgentRefreshGrant } from './tokens/agent-refresh.grant.js';

/** Programs of third parties that act for a user (docs/agents.md). */
@Module({
  imports: [AuthModule, ChannelModule, DeviceModule, ProviderModule, TokenModule, UserModule],
  controllers: [AgentAuthorizeController, ProgramsController],
  providers: [
    AgentAuthorizations,
    AgentCodeGrant,
    AgentDevices,
    AgentRefreshGrant,
    AgentRequests,
    AgentSignIns,
    Consents,
    Permissions,
    ProgramEnds,
    { provide: AgentsFile, useFactory: (settings: Settings) => readAgentsFile(settings), inject: [SETTINGS] },
    AgentClients,
    ClientAuthentication,
    ClientDocuments,
  ],
})
export class AgentsModule implements NestModule {
  static forRoot(settings: Settings): DynamicModule {
    const hasAssertions = idJagIssuers(settings).size > 0;
    return {
      module: AgentsModule,
      controllers: hasAssertions ? [RefusedProgramsController] : [],
      providers: hasAssertions ? [Assertions, IdJagGrant, RefusedPrograms, SharedSessions] : [],
    };
  }

  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply(AgentRoutes)
      .forRoutes(
        { path: 'oauth2/authorize', method: RequestMethod.GET },
        { path: 'oauth2/device_authorization', method: RequestMethod.POST },
      );
  }
}

import { Module } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { AgentClients } from './clients/agent-clients.js';
import { ClientAuthentication } from './clients/client-authentication.js';
import { ClientDocuments } from './clients/client-documents.js';
import { AgentsFile, readAgentsFile } from './file/agents-file.js';

/** Programs of third parties that act for a user (docs/agents.md). */
@Module({
  providers: [
    { provide: AgentsFile, useFactory: (settings: Settings) => readAgentsFile(settings), inject: [SETTINGS] },
    AgentClients,
    ClientAuthentication,
    ClientDocuments,
  ],
})
export class AgentsModule {}

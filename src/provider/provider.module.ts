import { Module } from '@nestjs/common';
import { ContractAdapter } from './adapters/contract.adapter.js';
import { ProviderRegistry } from './provider.registry.js';

@Module({
  providers: [ProviderRegistry, ContractAdapter],
  exports: [ProviderRegistry],
})
export class ProviderModule {}

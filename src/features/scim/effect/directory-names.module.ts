import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../../auth/auth.module.js';
import { DirectoryName } from './directory-name.entity.js';
import { DirectoryNames } from './directory-name.store.js';
import { NamesWithoutDirectory } from './names-without-directory.js';

/** Who users are in directories, also in those that are off. */
@Module({
  imports: [AuthModule, TypeOrmModule.forFeature([DirectoryName])],
  providers: [DirectoryNames, NamesWithoutDirectory],
  exports: [DirectoryNames],
})
export class DirectoryNamesModule {}

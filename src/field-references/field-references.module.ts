import { Module } from '@nestjs/common';
import { ReferenceResolver } from '../graphql/schema/reference-fields.js';
import { GroupsModule } from '../groups/groups.module.js';
import { UsersModule } from '../users/users.module.js';
import { FieldReferencesService } from './field-references.service.js';

@Module({
  imports: [GroupsModule, UsersModule],
  providers: [{ provide: ReferenceResolver, useClass: FieldReferencesService }],
})
export class FieldReferencesModule {}

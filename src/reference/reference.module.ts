import { Module } from '@nestjs/common';
import { GraphQLModule } from '../graphql/graphql.module.js';
import { ModelReference } from './model-reference.js';
import { ReferenceController } from './reference.controller.js';
import { ReferenceFiles } from './reference-files.js';
import { SchemaController } from './schema.controller.js';

@Module({
  imports: [GraphQLModule],
  controllers: [ReferenceController, SchemaController],
  providers: [ModelReference, ReferenceFiles],
})
export class ReferenceModule {}

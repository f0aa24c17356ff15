import { Module } from '@nestjs/common';
import { ServiceAccountsModule } from '../service-accounts/service-accounts.module.js';
import { StartPageController } from './start-page.controller.js';

@Module({ imports: [ServiceAccountsModule], controllers: [StartPageController] })
export class StartPageModule {}

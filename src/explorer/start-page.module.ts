import { Module } from '@nestjs/common';
import { ServedPages } from '../pages/served-pages.js';
import { ServiceAccountsModule } from '../service-accounts/service-accounts.module.js';
import { StartPageController } from './start-page.controller.js';

@Module({ imports: [ServiceAccountsModule], controllers: [StartPageController], providers: [ServedPages] })
export class StartPageModule {}

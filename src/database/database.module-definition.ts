import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type DatabaseOptions } from './database-options.js';

export const {
  ConfigurableModuleClass: DatabaseModuleClass,
  MODULE_OPTIONS_TOKEN: DATABASE_OPTIONS,
} = new ConfigurableModuleBuilder<DatabaseOptions>({ moduleName: 'Database' })
  .setClassMethodName('forRoot')
  .build();

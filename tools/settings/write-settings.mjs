// Writes docs/settings.md and .env.example. It reads the compiled settings: run it as `npm run settings`.
import { writeFileSync } from 'node:fs';
import { SETTING_GROUPS } from '../../dist/config/settings.js';
import { formatEnvironmentExample, formatSettingsPage } from './format-settings.mjs';

writeFileSync('docs/settings.md', formatSettingsPage(SETTING_GROUPS));
writeFileSync('.env.example', formatEnvironmentExample(SETTING_GROUPS));

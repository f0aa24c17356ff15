import { readBuild } from '../../health/build-info.js';
import type { Metrics } from './metric-group.js';

/** Registers the metric with the version of the build. */
export function registerBuild(metrics: Metrics): void {
  const { version, commit } = readBuild();
  const build = metrics.gauge('directory_build', 'The build that runs; always 1', ['version', 'commit']);
  build.take([[{ version, commit: commit ?? '' }, 1]]);
}
